// Drafts are kept in this browser, under names that nobody else uses; a server keeps only what is deployed.

import { nameOf } from "./kinds";

export interface Draft {
  id: string;
  name: string;
  xml: string;
  /** Milliseconds. */
  saved: number;
}

const PREFIX = "skep-draft-";

function read(key: string): Draft | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    if (typeof kept === "object" && kept !== null && "xml" in kept && typeof kept.xml === "string") {
      const { name, saved } = kept as Partial<Draft>;
      return { id: key.slice(PREFIX.length), name: String(name ?? ""), xml: kept.xml, saved: Number(saved ?? 0) };
    }
  } catch {
    // Somebody else wrote there.
  }
  return undefined;
}

/** The newest first. */
export const drafts = (): Draft[] =>
  Object.keys(localStorage)
    .filter((key) => key.startsWith(PREFIX))
    .flatMap((key) => read(key) ?? [])
    .toSorted((a, b) => b.saved - a.saved);

export const draft = (id: string): Draft | undefined => read(PREFIX + id);

/** False where the browser has no room or keeps nothing. */
export function keep(id: string, xml: string): boolean {
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify({ name: nameOf(xml), xml, saved: Date.now() }));
    return true;
  } catch {
    return false;
  }
}

export const drop = (id: string): void => localStorage.removeItem(PREFIX + id);

export const newId = (): string => crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12);
