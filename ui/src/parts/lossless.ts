// JSON text with some of its values changed: all others keep their text, so that no number loses a digit.
import { compactJson, tokens } from "./json";

type Node = { kind: "object"; members: Map<string, Node> } | { kind: "list"; items: Node[] } | { kind: "leaf"; text: string };

/** The tree of JSON text, in which leaves are the text that was there. */
function parse(text: string): Node {
  const parts = tokens(text).filter((token) => token.kind !== "space").map((token) => token.text);
  let at = 0;
  const value = (): Node => {
    const first = parts[at] ?? "null";
    at += 1;
    if (first === "{") {
      const members = new Map<string, Node>();
      while (at < parts.length && parts[at] !== "}") {
        const name = JSON.parse(parts[at] ?? '""') as string;
        at += 2;
        members.set(name, value());
        if (parts[at] === ",") at += 1;
      }
      at += 1;
      return { kind: "object", members };
    }
    if (first !== "[") return { kind: "leaf", text: first };
    const items: Node[] = [];
    while (at < parts.length && parts[at] !== "]") {
      items.push(value());
      if (parts[at] === ",") at += 1;
    }
    at += 1;
    return { kind: "list", items };
  };
  return value();
}

function write(node: Node): string {
  if (node.kind === "leaf") return node.text;
  if (node.kind === "list") return `[${node.items.map(write).join(",")}]`;
  return `{${[...node.members].map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(",")}}`;
}

const ofValue = (value: unknown): Node => parse(JSON.stringify(value) ?? "null");
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function list(original: Node[], before: unknown[], now: unknown[], all: unknown[]): Node {
  if (now.length >= before.length) {
    return { kind: "list", items: now.map((each, at) => merge(at < before.length ? original[at] : undefined, before[at], each, all[at])) };
  }
  // Some were taken away. Those that are as before keep their text; another one may be any of the old ones, so it takes over none.
  const left = new Set(before.keys());
  const items = now.map((each, to) => {
    const old = [...left].find((at) => same(before[at], all[to]));
    if (old === undefined) return ofValue(each);
    left.delete(old);
    return original[old] ?? ofValue(each);
  });
  return { kind: "list", items };
}

const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
const itemsOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

function merge(original: Node | undefined, before: unknown, now: unknown, all: unknown): Node {
  if (original === undefined) return ofValue(now);
  if (original.kind === "object" && isObject(now)) {
    const members = new Map(original.members);
    for (const [name, value] of Object.entries(now)) {
      if (value !== undefined) members.set(name, merge(original.members.get(name), member(before, name), value, member(all, name)));
    }
    return { kind: "object", members };
  }
  if (same(before, now)) return original;
  if (original.kind === "list" && Array.isArray(before) && Array.isArray(now)) return list(original.items, before, now, itemsOf(all));
  return ofValue(now);
}

/**
 * `original` with what differs between two values of it, each as somebody saw it; undefined when nothing does. What was seen may lack
 * members, as forms have fields for some alone; `all` is `now` with those of them that are known.
 */
export function changed(original: string | undefined, before: unknown, now: unknown, all: unknown = now): string | undefined {
  if (original === undefined) return now === undefined ? undefined : JSON.stringify(now);
  const text = write(merge(parse(original), before, now, all));
  return text === write(parse(compactJson(original))) ? undefined : text;
}

/** What stands at a path of names within JSON text, as it is written there; undefined where nothing does. */
export function memberOf(text: string, path: readonly string[]): string | undefined {
  let node: Node | undefined = parse(text);
  for (const name of path) node = node?.kind === "object" ? node.members.get(name) : undefined;
  return node && write(node);
}

/** A number in one way of many to write it: its digits, and where they stand. */
function canonical(text: string): string {
  const [, sign = "", whole = "", part = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : `${sign}${short}e${Number(exponent) - part.length + digits.length - short.length}`;
}

/** Whether JavaScript would read the number as another one. */
export const rounds = (text: string): boolean => canonical(String(Number(text))) !== canonical(text);

/** Whether a number within the text has more digits than a form can show. */
export const holdsLongNumber = (text: string): boolean => tokens(text).some((token) => token.kind === "number" && rounds(token.text));
