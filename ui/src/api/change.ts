// Commands that change where an instance stands, or what it is an instance of.
import { post, send } from "./client";
import { done } from "./live";
import type { InstanceKey } from "./keys";
import { PAGE } from "./list";
import { live } from "./live";

export interface Pair {
  sourceElementId: string;
  targetElementId: string;
}

/** `body` is text: variables in it keep the digits of their numbers. */
export const modify = (key: InstanceKey, body: string): Promise<Response> =>
  done(send("post", "/process-instances/{processInstanceKey}/modification", { processInstanceKey: key }, body));

export const migrate = (key: InstanceKey, target: string, pairs: Pair[]): Promise<void> =>
  done(post("/process-instances/{processInstanceKey}/migration", { processInstanceKey: key }, { targetProcessDefinitionKey: target, mappingInstructions: pairs }));

/** What is active of an element, the oldest first. */
export const tokensOf = (key: InstanceKey, elementId: string) =>
  live(["instances", "tokens", key, elementId], async (how) => {
    const { items, page } = await post("/element-instances/search", {}, {
      filter: { processInstanceKey: key, elementId, state: "ACTIVE" },
      sort: [{ field: "elementInstanceKey" }],
      page: { limit: PAGE },
    }, how);
    return { items, total: page.totalItems };
  }, 2_000);

