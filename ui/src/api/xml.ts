// Models as they were deployed: of a process, and of a form.
import { get, send } from "./client";
import type { DefinitionKey, FormKey } from "./keys";
import { once } from "./live";

export const xml = (key: DefinitionKey) =>
  once(["definitions", "xml", key], async (how) => {
    const answer = await send("get", "/process-definitions/{processDefinitionKey}/xml", { processDefinitionKey: key }, undefined, how);
    return answer.text();
  });

/** A form has its model as JSON. */
export const formSchema = (formKey: FormKey) =>
  once(["definitions", "form of", formKey], async (how) => (await get("/forms/{formKey}", { formKey }, how)).schema);
