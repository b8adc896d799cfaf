// Views, drafts and models that somebody keeps: on the server where they are logged in, in this browser otherwise. Every change names the
// revision that it replaces, so that of two browsers none overwrites what the other one has kept.
import { get, send } from "./client";
import { Problem } from "./problem";
import { sessionNow } from "./session";

export type Kind = "views" | "drafts" | "models";

/** What lists show. */
export interface Entry {
  name: string;
  title: string;
  revision: string;
  /** The user that it belongs to; empty in a browser. */
  owner: string;
  shared: boolean;
  /** ISO 8601. */
  changed: string;
}

export interface Kept extends Entry {
  body: Record<string, unknown>;
}

export interface Content {
  title: string;
  shared: boolean;
  body: Record<string, unknown>;
}

export interface Keeper {
  list: (kind: Kind) => Promise<readonly Entry[]>;
  /** `owner`: who shares it, if it is somebody else. */
  get: (kind: Kind, name: string, owner?: string) => Promise<Kept>;
  /** `replaces`: null where it is new. Resolves with the revision. */
  put: (kind: Kind, name: string, content: Content, replaces: string | null) => Promise<string>;
  drop: (kind: Kind, name: string, revision: string) => Promise<void>;
}

/** The object has another revision, or is there already. */
export const isConflict = (error: unknown): boolean => error instanceof Problem && error.status === 412;

export const server: Keeper = {
  list: async (kind) => (await get("/skep/v1/kept/{kind}", { kind })).items,
  get: async (kind, name, owner) => (await get("/skep/v1/kept/{kind}/{name}", { kind, name }, owner === undefined ? {} : { query: { owner } })) as Kept,
  put: async (kind, name, content, replaces) => {
    const answer = await send("put", "/skep/v1/kept/{kind}/{name}", { kind, name }, JSON.stringify(content), { replaces });
    return ((await answer.json()) as Entry).revision;
  },
  drop: async (kind, name, revision) => {
    await send("delete", "/skep/v1/kept/{kind}/{name}", { kind, name }, undefined, { replaces: revision });
  },
};

const PREFIX = "skep-kept-";
const placeOf = (kind: Kind, name: string): string => `${PREFIX}${kind}-${name}`;

function read(place: string): Omit<Kept, "name" | "owner"> | undefined {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place) ?? "null");
    if (typeof found !== "object" || found === null || !("body" in found) || typeof found.body !== "object" || found.body === null) return undefined;
    const { title, revision, changed } = found as Partial<Kept>;
    return { title: String(title ?? ""), revision: String(revision ?? ""), changed: String(changed ?? ""), shared: false, body: found.body as Record<string, unknown> };
  } catch {
    // Somebody else wrote there.
    return undefined;
  }
}

function expect(kind: Kind, name: string, revision: string | null) {
  const there = read(placeOf(kind, name))?.revision ?? null;
  if (there === revision) return;
  throw there === null ? new Problem(404, "NOT_FOUND", name) : new Problem(412, "PRECONDITION_FAILED", name);
}

/** A browser shares nothing. Its revisions are there for its tabs. */
export const browser: Keeper = {
  list: async (kind) => {
    const prefix = placeOf(kind, "");
    const places = Object.keys(localStorage).filter((place) => place.startsWith(prefix));
    return places.flatMap((place): Entry[] => {
      const found = read(place);
      return found === undefined ? [] : [{ name: place.slice(prefix.length), owner: "", ...found }];
    });
  },
  get: async (kind, name) => {
    const found = read(placeOf(kind, name));
    if (found === undefined) throw new Problem(404, "NOT_FOUND", name);
    return { name, owner: "", ...found };
  },
  put: async (kind, name, { title, body }, replaces) => {
    expect(kind, name, replaces);
    const revision = newId();
    try {
      localStorage.setItem(placeOf(kind, name), JSON.stringify({ title, body, revision, changed: new Date().toISOString() }));
    } catch {
      throw new Problem(507, "NO_ROOM", "This browser has no room for it.");
    }
    return revision;
  },
  drop: async (kind, name, revision) => {
    expect(kind, name, revision);
    localStorage.removeItem(placeOf(kind, name));
  },
};

/** Whether there is a user for whom the server keeps something. */
export const isKeptByServer = (): boolean => {
  const { kind } = sessionNow();
  return kind === "in" || kind === "over";
};

export const keeper = (): Keeper => (isKeptByServer() ? server : browser);

export const newId = (): string => crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12);
