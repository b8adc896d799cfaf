// Which other instances have the same value: what the address of the list says to find them.
import type { Variable } from "../../api/instances";

/** An address has to stay one that can be sent around. */
const LONGEST = 500;

/** Nothing where the list could not be asked for exactly this value: it takes a star for anything, and names as FEEL has them. */
export function sameValue({ name, value, isTruncated }: Pick<Variable, "name" | "value" | "isTruncated">): { var: string[] } | undefined {
  if (isTruncated || value.length > LONGEST || value.includes("*") || !/^[A-Za-z_]\w*$/.test(name)) return undefined;
  return { var: [`${name} = ${value}`] };
}
