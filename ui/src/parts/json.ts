// JSON as text: numbers keep the digits that somebody wrote, however many there are.

export function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export const isJson = (text: string): boolean => jsonError(text) === undefined;

export interface Token {
  kind: "name" | "text" | "number" | "word" | "mark" | "space";
  text: string;
}

/** A string that the text ends in is one: of a long value only the beginning may be there. */
const TOKEN = /("(?:[^"\\]|\\.)*"?)(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([{}[\],:])|(\s+)|(.)/gsu;

/** The parts of JSON text, in order; together they are the text. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  for (const [whole, string, colon, digits, word, mark, space] of text.matchAll(TOKEN)) {
    if (string !== undefined) {
      found.push({ kind: colon === undefined ? "text" : "name", text: string });
      if (colon !== undefined) found.push({ kind: "mark", text: colon });
    } else if (digits !== undefined) found.push({ kind: "number", text: digits });
    else if (word !== undefined) found.push({ kind: "word", text: word });
    else if (space !== undefined) found.push({ kind: "space", text: space });
    else found.push({ kind: "mark", text: mark ?? whole });
  }
  return found;
}

/** Without white space between tokens, as the server stores it. */
export const compactJson = (text: string): string =>
  tokens(text).filter((token) => token.kind !== "space").map((token) => token.text.replace(/\s+:$/, ":")).join("");

/** The elements of a list in JSON text, each as text. */
export function elementsOf(text: string): string[] {
  const found: string[] = [];
  let [depth, element] = [0, ""];
  for (const { kind, text: part } of tokens(text)) {
    const mark = kind === "mark" ? part.trim() : "";
    if (mark === "]" || mark === "}") depth -= 1;
    if (depth > 0 && !(mark === "," && depth === 1)) element += part;
    else if (element.trim() !== "") {
      found.push(compactJson(element));
      element = "";
    }
    if (mark === "[" || mark === "{") depth += 1;
  }
  return found;
}

/** On several lines, with two blanks for each level; empty and short lists stay on one. */
export function prettyJson(text: string): string {
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  const parts = tokens(text).filter((token) => token.kind !== "space");
  for (const [at, { kind, text: part }] of parts.entries()) {
    const bare = part.trim();
    const next = parts[at + 1]?.text.trim();
    if (kind === "mark" && (bare === "{" || bare === "[")) {
      depth += 1;
      out += next === "}" || next === "]" ? bare : bare + line();
    } else if (kind === "mark" && (bare === "}" || bare === "]")) {
      depth -= 1;
      const before = parts[at - 1]?.text.trim();
      out += before === "{" || before === "[" ? bare : line() + bare;
    } else if (kind === "mark" && bare === ",") out += `,${line()}`;
    else if (kind === "mark" && bare === ":") out += ": ";
    else out += bare;
  }
  return out;
}

/** On one line, with blanks where people expect them. */
export const spacedJson = (text: string): string =>
  tokens(text)
    .filter((token) => token.kind !== "space")
    .map(({ kind, text: part }) => (kind === "mark" && /[,:]/.test(part) ? `${part.trim()} ` : part))
    .join("");
