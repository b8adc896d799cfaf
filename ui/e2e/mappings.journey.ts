// Where variables come from: the mappings of an instance's elements, as the model has them, with the values of now.
import { sound } from "./axe";
import { expect, fits, instanceOf, test } from "./journey";
import { BIG, HOSTILE } from "./seed.mjs";

const LONG = `=if order.amount > 1000 then ${"\"a-name-that-does-not-break-".padEnd(220, "x")}" else { kind: "small", of: order.id }`;
const escape = (value: string) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const mapping = (way: string, source: string, target: string) => `<z:${way} source="${escape(source)}" target="${target}"/>`;
const shape = (id: string, at: number, size: number) =>
  `<di:BPMNShape id="${id}-shape" bpmnElement="${id}"><dc:Bounds x="${at}" y="${120 - size / 2}" width="${size === 36 ? 36 : 100}" height="${size}"/></di:BPMNShape>`;

/** With prefixes that no modeler writes. */
const model = `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:di="http://www.omg.org/spec/BPMN/20100524/DI"
  xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:z="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">
  <process id="mapped" name="Mapped" isExecutable="true">
    <startEvent id="begin" name="Order comes"/>
    <sequenceFlow id="f1" sourceRef="begin" targetRef="charge"/>
    <serviceTask id="charge" name="Charge card" z:modelerTemplate="card">
      <extensionElements><z:taskDefinition type="charge-mapped"/><z:ioMapping>
        ${mapping("input", "=order.id", "orderId")}${mapping("input", "EUR", "money.currency")}${mapping("input", "=order.amount", "money.amount")}
        ${mapping("input", LONG, "reason")}${mapping("input", `="${HOSTILE.replaceAll('"', "'")}"`, "html")}${mapping("input", "=1", "twice")}${mapping("input", "=2", "twice")}
        ${mapping("output", "=receipt.number", "receiptNumber")}
      </z:ioMapping></extensionElements>
    </serviceTask>
    <sequenceFlow id="f2" sourceRef="charge" targetRef="ask"/>
    <serviceTask id="ask" name="Ask member">
      <extensionElements><z:taskDefinition type="ask-mapped"/></extensionElements>
      <multiInstanceLoopCharacteristics><extensionElements>
        <z:loopCharacteristics inputCollection="=members" inputElement="member" outputCollection="votes" outputElement="=vote"/>
      </extensionElements></multiInstanceLoopCharacteristics>
    </serviceTask>
    <sequenceFlow id="f3" sourceRef="ask" targetRef="ship"/>
    <callActivity id="ship" name="Ship"><extensionElements><z:calledElement processId="parcel" propagateAllParentVariables="false"/></extensionElements></callActivity>
  </process>
  <di:BPMNDiagram id="x"><di:BPMNPlane id="y" bpmnElement="mapped">
    ${shape("begin", 100, 36)}${shape("charge", 200, 80)}${shape("ask", 350, 80)}${shape("ship", 500, 80)}
  </di:BPMNPlane></di:BPMNDiagram>
</definitions>`;

test("mappings say where variables come from, and which values the element has", async ({ page, open, api }) => {
  await api.deploy([["mapped.bpmn", model]]);
  const { processInstanceKey: key } = await api.start("mapped", `{"order": {"id": ${BIG}, "amount": 98765432109876543.21}, "members": ["anna", "ben"]}`);
  const [job] = await api.jobs("charge-mapped");
  if (job === undefined) throw new Error("no worker got the job");

  // All of them, by keys.
  await open(`/processes/i/${key}?tab=messages`);
  await page.getByRole("tab", { name: "Messages" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/tab=mappings/);
  const all = page.getByRole("list", { name: "Elements with mappings" });
  await expect(all.getByRole("heading", { level: 3 })).toHaveText(["Charge card", "Ask member", "Ship"]);
  await expect(all.getByText("=order.id", { exact: true })).toBeVisible();
  await sound(page, "all mappings");

  // One of them, with its values.
  await all.getByRole("button", { name: "Charge card" }).click();
  await expect(page).toHaveURL(/element=charge/);
  const rows = page.getByRole("list", { name: "Input mappings" }).getByRole("listitem");
  await expect(rows.filter({ hasText: "=order.id" }).first()).toContainText(`orderIdValue now${BIG}`);
  await expect(rows.filter({ hasText: "money.currency" })).toContainText('"EUR"');
  await expect(rows.filter({ hasText: "money.amount" })).toContainText("98765432109876543.21");
  await expect(rows.filter({ hasText: "=1" })).toContainText("A later mapping sets the same");
  await expect(rows.filter({ hasText: "=2" })).toContainText("Value now2");
  await expect(page.getByText(LONG)).toBeVisible();
  await expect(page.getByRole("list", { name: "Output mappings" })).toHaveText("=receipt.numbersetsreceiptNumber");
  await sound(page, "the mappings of an element");

  // An element without any says what happens then, and leads to those with some.
  await page.getByRole("treeitem", { name: "Order comes" }).click();
  await expect(page.getByText("No mappings at Order comes")).toBeVisible();
  await sound(page, "no mappings");
  await page.getByRole("button", { name: "All elements" }).click();
  await all.getByRole("button", { name: "Ship" }).click();
  await expect(page.getByText("has not run in this instance")).toBeVisible();
  await expect(page.getByText("propagateAllParentVariables: false")).toBeVisible();
  await expect(page.getByText("All its variables come back")).toBeVisible();

  // Each instance of a loop has an item of its own.
  await api.complete(job, { receipt: { number: 7 } });
  const members = page.getByRole("treeitem", { name: /Ask member/ });
  await expect(members).toHaveCount(3);
  await members.first().click();
  await expect(page.getByText("choose one in the history")).toBeVisible();
  const item = page.getByRole("list", { name: "Multi-instance, in parallel" });
  await members.nth(1).click();
  await expect(item).toHaveText('=memberssetsmemberValue now"anna"');
  await members.nth(2).click();
  await expect(item).toHaveText('=memberssetsmemberValue now"ben"');
  await expect(page.getByRole("list", { name: "Output collection" })).toHaveText("=votesetsvotes");
  await page.setViewportSize({ width: 360, height: 800 });
  await fits(page);
});

test("a process without mappings says so", async ({ page, open, api }) => {
  await open(`/processes/i/${await instanceOf(api, "hostile")}?tab=mappings`);
  await expect(page.getByText("No mappings in this process")).toBeVisible();
});

test("on a phone a tab that a link names is in view, however far along the bar it is", async ({ page, open, api }) => {
  await page.setViewportSize({ width: 360, height: 760 });
  await open(`/processes/i/${await instanceOf(api, "order", { hasIncident: true })}?tab=mappings`);
  const seen = async (name: string) => {
    const tab = page.getByRole("tab", { name });
    await expect(tab).toHaveAttribute("aria-selected", "true");
    await expect.poll(async () => tab.evaluate((element) => element.getBoundingClientRect().left >= 0 && element.getBoundingClientRect().right <= innerWidth), name).toBe(true);
  };
  await seen("Mappings");
  // The counts are there by now, and the bar is as wide as it gets.
  await expect(page.getByRole("tab", { name: /Incidents ?\d/ })).toBeAttached();
  await seen("Mappings");
  expect(await page.locator(".content").evaluate((content) => content.scrollTop), "the page itself stays where it begins").toBe(0);
  await page.getByRole("tab", { name: "Mappings" }).focus();
  await page.keyboard.press("End");
  await seen("Audit");
  await page.keyboard.press("Home");
  await seen("Variables");
});
