// Expressions that the server evaluates. What came is text: numbers keep their digits.
import type { Answer } from "./client";
import { send } from "./client";

type Answered = Answer<"/expression/evaluation", "post">;

export interface Evaluated {
  /** The whole answer, as the server wrote it. */
  text: string;
  warnings: Answered["warnings"];
  /** When the machine answered, by its own clock. */
  date: string | null;
}

/** `variables` is JSON text; with a tenant its cluster variables are seen. What does not begin with `=` is not an expression but a text of itself. */
export async function evaluate(expression: string, variables: string, tenant: string | undefined, signal: AbortSignal): Promise<Evaluated> {
  const of = tenant === undefined ? "" : `"tenantId":${JSON.stringify(tenant)},`;
  const answer = await send("post", "/expression/evaluation", {}, `{"expression":${JSON.stringify(expression)},${of}"variables":${variables}}`, { signal });
  const text = await answer.text();
  return { text, warnings: (JSON.parse(text) as Answered).warnings, date: answer.headers.get("date") };
}
