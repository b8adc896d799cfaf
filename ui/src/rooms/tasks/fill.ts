// What completing a task sends: of the form what was touched or is new, and the variables that somebody wrote, as JSON text.
import { compactJson } from "../../parts/json";
import { changed, holdsLongNumber } from "../../parts/lossless";
import { componentsOf } from "./components";
import type { Filled } from "./FormView";

export type Values = Record<string, unknown>;

export const valuesOf = (texts: ReadonlyMap<string, string>): Values =>
  Object.fromEntries([...texts].map(([name, text]) => [name, JSON.parse(text) as unknown]));

/** `now` are the variables of this moment: what others changed meanwhile, and nobody touched here, stays theirs. */
export function toSend(filled: Filled | undefined, written: Record<string, string>, now: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const sent = new Map<string, string>();
  for (const [name, value] of Object.entries(filled?.now ?? {})) {
    const text = changed(now.get(name), filled?.before[name], value, filled?.all[name]);
    if (text !== undefined) sent.set(name, text);
  }
  for (const [name, text] of Object.entries(written)) sent.set(name, compactJson(text));
  return sent;
}

/** Names with JSON text, as one object of JSON text. */
export const objectOf = (variables: ReadonlyMap<string, string>): string => `{${[...variables].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;

/** The variable that a path of the form begins in. */
const top = (path: string): string => path.split(".")[0] ?? path;

/** Variables of the form with numbers that it cannot show to the last digit. */
export function roundedIn(schema: string, texts: ReadonlyMap<string, string>): string[] {
  const used = new Set(componentsOf(schema).flatMap((each) => [each.key, each.path].filter((path) => path !== undefined && path !== "").map((path) => top(path ?? ""))));
  return [...texts].filter(([name, text]) => used.has(name) && holdsLongNumber(text)).map(([name]) => name);
}

/** More digits than a number of JavaScript keeps: what was typed may have been another number. */
const isLong = (value: number): boolean => Math.abs(value) > Number.MAX_SAFE_INTEGER || (String(value).match(/\d/g)?.join("").replace(/^0+/, "").length ?? 0) > 15;

/** Fields for numbers whose new value a form has perhaps rounded. */
export function tooLong(schema: string, { before, now }: Filled): string[] {
  const fields = new Set(componentsOf(schema).filter((each) => each.type === "number").map((each) => each.key?.split(".").at(-1)));
  const found: string[] = [];
  const walk = (path: string[], was: unknown, is: unknown) => {
    if (typeof is === "number" && is !== was && isLong(is) && fields.has(path.findLast((each) => !/^\d+$/.test(each)))) found.push(path.join("."));
    if (typeof is !== "object" || is === null) return;
    for (const [name, value] of Object.entries(is)) walk([...path, name], (was as Values | undefined | null)?.[name], value);
  };
  walk([], before, now);
  return found;
}
