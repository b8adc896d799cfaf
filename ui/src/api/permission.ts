// What a refusal lacks: the server names the permission, what it is on, and which ids would do.

export interface Lack {
  permission: string;
  resource: string;
  /** Of which one is enough, without the wildcard. */
  ids: readonly string[];
}

const REFUSAL = /to perform operation '([A-Z_]+)' on resource '([A-Z_]+)'/;
const IDS = /identifiers? are one of '?\[([^\]]*)\]/;

/** Nothing where the text does not say it. */
export function lackIn(detail: string): Lack | undefined {
  const [, permission, resource] = REFUSAL.exec(detail) ?? [];
  if (permission === undefined || resource === undefined) return undefined;
  const ids = (IDS.exec(detail)?.[1] ?? "").split(",").map((each) => each.trim().replaceAll(/^['"]|['"]$/g, ""));
  return { permission, resource, ids: ids.filter((each) => each !== "" && each !== "*") };
}
