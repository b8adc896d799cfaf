// What is coloured in a field of code: the parts of JSON or FEEL, which brackets belong together, and where JSON stops being JSON.
import { type Token, isJson, tokens as ofJson } from "../json";

export type Language = "json" | "feel";
export interface Part {
  kind: Token["kind"] | "note";
  text: string;
}

const WORDS = /^(?:true|false|null|if|then|else|for|in|return|some|every|satisfies|and|or|between|not|instance|of|function)$/;
/** Comments, strings and what is still open of them, dates after an `@`, numbers, names, blanks, and all else one by one. */
const FEEL = /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(@?"(?:[^"\\]|\\[\s\S])*"?)|((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)|([\p{L}_$?][\p{L}\p{N}_$]*)|(\s+)|([\s\S])/gu;

function ofFeel(text: string): Part[] {
  const found: Part[] = [];
  for (const [whole, note, string, digits, name, space] of text.matchAll(FEEL)) {
    if (note !== undefined) found.push({ kind: "note", text: note });
    else if (string !== undefined) found.push({ kind: "text", text: string });
    else if (digits !== undefined) found.push({ kind: "number", text: digits });
    else if (name !== undefined) found.push({ kind: WORDS.test(name) ? "word" : "name", text: name });
    else found.push({ kind: space === undefined ? "mark" : "space", text: whole });
  }
  return found;
}

/** The parts in order; together they are the text. */
export const partsOf = (text: string, language: Language): Part[] => (language === "feel" ? ofFeel(text) : ofJson(text));

const CLOSES: Record<string, string> = { "(": ")", "[": "]", "{": "}" };
const OPENS = new Set(Object.keys(CLOSES));
const isBracket = ({ kind, text }: Part): boolean => kind === "mark" && /^[()[\]{}]$/.test(text);

/** The bracket beside the caret and the one that belongs to it, as indexes of parts; one alone if it has none. */
export function bracketsAt(parts: readonly Part[], caret: number): readonly number[] {
  let [offset, beside] = [0, -1];
  for (const [at, part] of parts.entries()) {
    if (offset > caret) break;
    // The one before the caret was written last.
    if (isBracket(part) && (offset + 1 === caret || (offset === caret && beside < 0))) beside = at;
    offset += part.text.length;
  }
  const bracket = parts[beside];
  if (bracket === undefined) return [];
  const step = OPENS.has(bracket.text) ? 1 : -1;
  const open: string[] = [];
  for (let at = beside; at >= 0 && at < parts.length; at += step) {
    const part = parts[at];
    if (part === undefined || !isBracket(part)) continue;
    if (OPENS.has(part.text) === (step > 0)) open.push(part.text);
    else {
      const other = open.pop() ?? "";
      const fits = step > 0 ? CLOSES[other] === part.text : CLOSES[part.text] === other;
      if (!fits) return [beside];
      if (open.length === 0) return [beside, at];
    }
  }
  return [beside];
}

type Wanted = "value" | "valueOrEnd" | "name" | "nameOrEnd" | "colon" | "commaOrEnd" | "nothing";

/** What may follow a part; undefined where the part may not be. `open` has the brackets that are open. */
function next({ kind, text }: Part, wanted: Wanted, open: string[]): Wanted | undefined {
  const mark = kind === "mark" ? text.trim() : "";
  const behind = (): Wanted => (open.length > 0 ? "commaOrEnd" : "nothing");
  if (wanted === "colon") return mark === ":" ? "value" : undefined;
  if ((mark === "}" || mark === "]") && wanted !== "value" && wanted !== "name") return open.pop() === (mark === "}" ? "{" : "[") ? behind() : undefined;
  if (wanted === "commaOrEnd") return mark !== "," ? undefined : open.at(-1) === "{" ? "name" : "value";
  if (wanted === "name" || wanted === "nameOrEnd") return kind === "name" && isJson(text) ? "colon" : undefined;
  if (wanted === "nothing") return undefined;
  if (mark === "{" || mark === "[") {
    open.push(mark);
    return mark === "{" ? "nameOrEnd" : "valueOrEnd";
  }
  return mark === "" && kind !== "name" && isJson(text) ? behind() : undefined;
}

/** The part at which JSON text is wrong, the last one where it goes on too little. Browsers tell the place each in words of its own, or not. */
export function wrongJsonAt(parts: readonly Part[]): number | undefined {
  const open: string[] = [];
  let wanted: Wanted | undefined = "value";
  let last: number | undefined;
  for (const [at, part] of parts.entries()) {
    if (part.kind === "space") continue;
    wanted = next(part, wanted, open);
    if (wanted === undefined) return at;
    last = at;
  }
  return wanted === "nothing" ? undefined : last;
}

/** The part in which an offset lies; the last one for what is missing at the end. */
export function partAt(parts: readonly Part[], offset: number): number {
  let end = 0;
  for (const [at, part] of parts.entries()) {
    end += part.text.length;
    if (offset < end) return at;
  }
  return parts.findLastIndex((part) => part.kind !== "space");
}
