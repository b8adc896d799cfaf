// What a diagram says of a process now: how many stand where, and when the next one starts.
import { expect, test } from "./journey";

test("the diagram asks for the numbers that the store keeps while only instances at work are chosen", async ({ page, open }) => {
  for (const [state, query] of [["active", "\\?hasIncident=false"], ["incident", "\\?hasIncident=true"], ["active,incident", "$"]] as const) {
    const asked = page.waitForRequest(new RegExp(`/active-elements${query}`));
    await open(`/processes?process=order&version=2&state=${state}`);
    await asked;
    await expect(page.locator(".pill").first()).toBeVisible();
  }
});

test("a process that starts by itself says when", async ({ page, open, api }) => {
  const timer = '<timeCycle xsi:type="tFormalExpression">R3/PT720H</timeCycle>';
  const model = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" targetNamespace="t">
    <process id="by-itself" isExecutable="true"><startEvent id="s"><timerEventDefinition>${timer}</timerEventDefinition></startEvent>
    <sequenceFlow id="f" sourceRef="s" targetRef="e"/><endEvent id="e"/></process></definitions>`;
  await api.deploy([["by-itself.bpmn", model]]);
  await open("/processes?process=by-itself");
  await expect(page.getByText(/^Starts by itself in 29 ?d.*, then 2 more times$/)).toBeVisible();
});
