// From what the server says of an expression to what is shown: the value as text, its kind, and where it is wrong.
import { tokens } from "../../parts/json";

/** With the sign by which the API tells an expression from a text. */
export const signed = (expression: string): string => (expression.trimStart().startsWith("=") ? expression.trimStart() : `=${expression}`);

/** The text of a member of a JSON object, every digit as it was sent; undefined without it. */
export function memberText(json: string, name: string): string | undefined {
  let [depth, wanted] = [0, false];
  let found: string | undefined;
  for (const { kind, text } of tokens(json)) {
    const closing = text === "}" || text === "]";
    if (kind === "mark" && closing) depth -= 1;
    const ends = kind === "mark" && ((depth === 1 && text === ",") || depth === 0);
    if (found !== undefined && ends) return found.trim();
    if (found !== undefined) found += text;
    else if (depth === 1 && kind === "name") wanted = JSON.parse(text) === name;
    else if (wanted && depth === 1 && kind === "mark" && text.trim() === ":") found = "";
    if (kind === "mark" && (text === "{" || text === "[")) depth += 1;
  }
  return undefined;
}

export type Kind = "context" | "list" | "string" | "number" | "boolean" | "null";

export function kindOf(value: string): Kind {
  if (value.startsWith("{")) return "context";
  if (value.startsWith("[")) return "list";
  if (value.startsWith('"')) return "string";
  return value === "null" ? "null" : value === "true" || value === "false" ? "boolean" : "number";
}

export interface Wrong {
  message: string;
  /** Where in what was written. */
  place?: { line: number; column: number; offset: number; text: string };
}

const PLACE = / \(line (\d+), column (\d+)\)$/;

/** What a refusal says, without what everybody knows; and its place in `written`. */
export function wrongOf(detail: string, written: string): Wrong {
  const plain = detail.replace(/^Command '\w+' rejected with code '\w+': /, "");
  const [end, line, column] = PLACE.exec(plain) ?? [];
  if (end === undefined) return { message: plain };
  const message = plain.slice(0, -end.length).replace(`Failed to parse expression '${signed(written)}': `, "");
  // The server counts from behind the sign, which somebody may have written or not.
  const before = written.trimStart().startsWith("=") ? written.indexOf("=") + 1 : 0;
  const lines = written.slice(before).split("\n");
  const row = lines[Number(line) - 1] ?? "";
  const within = [...row].slice(0, Number(column) - 1).join("").length;
  const offset = before + lines.slice(0, Number(line) - 1).reduce((sum, each) => sum + each.length + 1, 0) + within;
  return { message, place: { line: Number(line), column: Number(column), offset, text: row } };
}

/** One object with the variables of several scopes, the innermost first: it hides the others. */
export function asObject(scopes: readonly (readonly { name: string; value: string }[])[]): string {
  const found = new Map<string, string>();
  for (const scope of scopes) for (const { name, value } of scope) if (!found.has(name)) found.set(name, value);
  const members = [...found].toSorted(([a], [b]) => a.localeCompare(b, "en")).map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  return `{${members.join(",")}}`;
}
