// Alternatives of the filter: an instance matches one when all of its conditions hold, and it is enough to match any of them.
import { parseSearch, stringifySearch } from "../../app/search";
import { type Kind, KINDS } from "./kinds";
import type { ProcessSearch } from "./search";

export type Conditions = Pick<ProcessSearch, Kind>;

/** More than these nobody reads; with the choices of states there are twice as many conditions for the server. */
export const MOST_ALTERNATIVES = 8;

/** `undefined` where a part of it is no condition, as in a link that was cut: leaving that out would find more than was meant. */
export function alternative(text: string): Conditions | undefined {
  const read = parseSearch(text);
  const names = Object.keys(read);
  const known = names.length > 0 && names.every((name) => (KINDS as readonly string[]).includes(name));
  return known ? (read as Conditions) : undefined;
}

export const alternativesOf = (search: ProcessSearch): Conditions[] => (search.or ?? []).flatMap((text) => alternative(text) ?? []);

export const isEmpty = (conditions: Conditions): boolean => KINDS.every((kind) => conditions[kind] === undefined);

const text = (conditions: Conditions): string => stringifySearch(conditions).slice(1);

/** The conditions that stand beside the alternatives. */
export function always(search: Conditions): Conditions {
  const found: Conditions = {};
  for (const kind of KINDS) {
    if (kind === "var") found.var = search.var;
    else found[kind] = search[kind];
  }
  return found;
}

/** Both must hold: of one kind only variables have several conditions, and of the others the newer one counts. */
export function together(one: Conditions, other: Conditions): Conditions {
  const joined = [...(one.var ?? []), ...(other.var ?? [])];
  const given = Object.fromEntries(Object.entries(other).filter(([, value]) => value !== undefined));
  return { ...one, ...given, var: joined.length > 0 ? [...new Set(joined)] : undefined };
}

const meets = (one: Conditions, other: Conditions): boolean => KINDS.some((kind) => kind !== "var" && one[kind] !== undefined && other[kind] !== undefined);

/** Texts of an address that are no alternatives. They stay until they are taken away themselves: without them, something else is found. */
export const unreadAlternatives = (search: ProcessSearch): string[] => (search.or ?? []).filter((each) => alternative(each) === undefined);

/** One alternative alone is a condition like others, unless there is one that cannot be read. */
export function withAlternatives(search: ProcessSearch, all: readonly Conditions[]): ProcessSearch {
  const left = all.filter((each) => !isEmpty(each));
  const unread = unreadAlternatives(search);
  const [only] = left;
  if (unread.length === 0 && left.length === 1 && only && !meets(search, only)) return { ...search, ...together(always(search), only), or: undefined };
  const or = [...left.map(text), ...unread];
  return { ...search, or: or.length > 0 ? or : undefined };
}

/** The text is taken away, and one alternative that is left alone is what it is without it. */
export function withoutUnread(search: ProcessSearch, gone: string): ProcessSearch {
  const rest = { ...search, or: search.or?.filter((each) => each !== gone) };
  return withAlternatives(rest, alternativesOf(rest));
}
