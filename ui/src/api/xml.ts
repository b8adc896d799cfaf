// The model of a definition, as it was deployed.
import { send } from "./client";
import type { DefinitionKey } from "./keys";
import { once } from "./live";

export const xml = (key: DefinitionKey) =>
  once(["definitions", "xml", key], async (how) => {
    const answer = await send("get", "/process-definitions/{processDefinitionKey}/xml", { processDefinitionKey: key }, undefined, how);
    return answer.text();
  });
