// Processes that people start, and the files that go with them.
import { PNG, intakeForm, intakeModel, lookForm } from "./intake.mjs";
import { expect, passing, test } from "./journey";

test.beforeEach(async ({ api, page }) => {
  await api.deploy([["intake.bpmn", intakeModel], ["intake.form", intakeForm], ["look.form", lookForm]]);
  await page.addInitScript(() => localStorage.setItem("skep-who", "anna"));
});

const photo = { name: "roof.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") };
const bill = { name: "bill.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4 no real bill") };

test("a process is started by its form, and its files are documents in its task", async ({ page, open, api }) => {
  await open("/tasks");
  await page.getByRole("link", { name: "Start a process" }).click();
  await page.getByRole("combobox", { name: /^Process/ }).selectOption({ label: "New claim" });
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page.getByText("Something in the form is not right yet.")).toBeVisible();
  await page.getByRole("textbox", { name: "Customer" }).fill("Acme & Sons");
  await page.getByLabel("Photos").setInputFiles([photo, { ...photo, name: "door.png" }]);
  await page.getByLabel("Bill").setInputFiles(bill);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page.getByText("New claim was started")).toBeVisible();
  await page.getByRole("link", { name: "Open the instance" }).click();
  const key = /\/i\/(\d+)/.exec(page.url())?.[1];
  const valueOf = async (name: string) => {
    const { items } = await api.post("/variables/search?truncateValues=false", { filter: { processInstanceKey: key, name } });
    return items[0] === undefined ? undefined : (JSON.parse(String(items[0].value)) as Record<string, unknown> | Record<string, unknown>[]);
  };
  expect(await valueOf("customer")).toBe("Acme & Sons");
  expect(await valueOf("photos")).toMatchObject([
    { "camunda.document.type": "camunda", metadata: { fileName: "roof.png", contentType: "image/png", processDefinitionId: "intake" } },
    { metadata: { fileName: "door.png" } },
  ]);
  const documents = [await valueOf("photos"), await valueOf("bill")];

  // In the task they can be seen and saved.
  const { items } = await api.post("/user-tasks/search", { filter: { processInstanceKey: key } });
  await open(`/tasks?task=${String(items[0]?.userTaskKey)}`);
  await expect(page.locator(".fjs-documentPreview-image").first()).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "bill.pdf" }).click();
  expect((await saved).suggestedFilename()).toBe("bill.pdf");

  // A file more, and those that are there already stay as they are.
  await page.getByRole("button", { name: "Claim" }).last().click();
  // Files can be set at a field that a person could not use yet, and are gone then.
  await expect(page.getByLabel("Report")).toBeEnabled();
  await page.getByLabel("Report").setInputFiles({ name: "report.txt", mimeType: "text/plain", buffer: Buffer.from("Wet.") });
  await page.getByRole("textbox", { name: "Note" }).fill("All wet");
  await page.getByRole("button", { name: "Complete", exact: true }).click();
  await expect(page.getByText("Look at the photos is done")).toBeVisible();
  await expect.poll(() => valueOf("note")).toBe("All wet");
  await expect.poll(() => valueOf("report")).toMatchObject([{ metadata: { fileName: "report.txt", processInstanceKey: key } }]);
  expect([await valueOf("photos"), await valueOf("bill")]).toEqual(documents);
});

test("a version that is deployed under a form that is being filled in is offered, and takes nothing away", async ({ page, open, api }) => {
  const own = intakeModel.replaceAll('id="intake"', 'id="renewed"').replaceAll('bpmnElement="intake"', 'bpmnElement="renewed"').replaceAll("New claim", "Renewed claim");
  await api.deploy([["renewed.bpmn", own]]);
  await page.clock.install();
  await open("/tasks?start=renewed");
  const customer = page.getByRole("textbox", { name: "Customer" });
  await customer.fill("Acme & Sons");
  await api.deploy([["renewed.bpmn", own.replace("Renewed claim", "Renewed claim 2")]]);
  await passing(page, () => expect(page.getByText("Version 2 was deployed meanwhile")).toBeVisible({ timeout: 500 }));
  await expect(customer).toHaveValue("Acme & Sons");
  await page.getByRole("button", { name: "Begin with the new one" }).click();
  await expect(customer).toHaveValue("");
  await expect(page.getByText("was deployed meanwhile")).toHaveCount(0);
});

test("files of a start that is refused are taken back", async ({ page, open }) => {
  const ways: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/v2/documents")) ways.push(request.method());
  });
  await page.route("**/v2/process-instances", (route) => route.fulfill({ status: 409, contentType: "application/problem+json", body: '{"title":"INVALID_STATE","detail":"It cannot begin now"}' }));
  await open("/tasks?start=intake");
  await page.getByRole("textbox", { name: "Customer" }).fill("Acme");
  await page.getByLabel("Bill").setInputFiles(bill);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page.getByText("It cannot begin now")).toBeVisible();
  await expect.poll(() => ways).toEqual(["POST", "DELETE"]);
  await expect(page.getByRole("textbox", { name: "Customer" })).toHaveValue("Acme");
});

test("a process without a form begins with variables, and big numbers stay", async ({ page, open, api }) => {
  await open("/tasks?start=order");
  await expect(page.getByText("This process has no start form")).toBeVisible();
  await page.getByRole("button", { name: "Add a variable" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("orderId");
  await page.getByRole("textbox", { name: "Value, as JSON" }).fill("12345678901234567890");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("link", { name: "Open the instance" }).click();
  const key = /\/i\/(\d+)/.exec(page.url())?.[1];
  const { items } = await api.post("/variables/search", { filter: { processInstanceKey: key } });
  expect(items[0]?.value).toBe("12345678901234567890");
});
