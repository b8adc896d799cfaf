// What was drawn and the server does not have yet: it stays in this browser, for its user, until the server has it. So neither a closed
// page nor a server that is away loses anything.
import { nameOf as userOf, sessionNow } from "../../api/session";

export interface Unsent {
  id: string;
  xml: string;
  /** The revision on which it was drawn; null where the server has none. */
  revision: string | null;
  shared: boolean;
  /** Milliseconds. */
  saved: number;
}

const prefix = (): string => `skep-unsent-${userOf(sessionNow()) ?? ""}@`;

function read(place: string): Unsent | undefined {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place) ?? "null");
    if (typeof found !== "object" || found === null || !("xml" in found) || typeof found.xml !== "string") return undefined;
    const { revision, shared, saved } = found as Partial<Unsent>;
    return { id: place.slice(prefix().length), xml: found.xml, revision: typeof revision === "string" ? revision : null, shared: shared === true, saved: Number(saved ?? 0) };
  } catch {
    // Somebody else wrote there.
    return undefined;
  }
}

export const unsent = (id: string): Unsent | undefined => read(prefix() + id);

export const allUnsent = (): Unsent[] =>
  Object.keys(localStorage)
    .filter((place) => place.startsWith(prefix()))
    .flatMap((place) => read(place) ?? []);

/** False where the browser has no room. */
export function keepUnsent(id: string, xml: string, revision: string | null, shared = false): boolean {
  try {
    localStorage.setItem(prefix() + id, JSON.stringify({ xml, revision, shared, saved: Date.now() }));
    return true;
  } catch {
    return false;
  }
}

export const dropUnsent = (id: string): void => localStorage.removeItem(prefix() + id);
