// The query of an address as flat text: keys are longer than numbers of JavaScript, so nothing in it is ever taken for one.

export type Flat = Record<string, string | string[]>;

/** Names that may come several times. */
const LISTS = new Set(["var", "or", "plan"]);

export function parseSearch(query: string): Flat {
  const found: Flat = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === "") continue;
    if (!LISTS.has(name)) found[name] = value;
    else found[name] = [...(found[name] ?? []), value];
  }
  return found;
}

/** Readable: what may stand in a query as it is stays so. */
export function stringifySearch(search: Record<string, unknown>): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(search)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each === undefined || each === null || each === "") continue;
      const plain = encodeURIComponent(String(each)).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%20", "+");
      pairs.push(`${name}=${plain}`);
    }
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** The members of a query that a screen knows; others are dropped. */
export function only<Name extends string>(search: Record<string, unknown>, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}
