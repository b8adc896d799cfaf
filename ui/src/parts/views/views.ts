// Saved views: the filter and the order of a list, by the room in which it is.
import { queryOptions } from "@tanstack/react-query";
import { type Content, type Entry, browser, isKeptByServer, keeper, newId, server } from "../../api/kept";
import { queries } from "../../api/live";
import type { Problem } from "../../api/problem";
import { nameOf, sessionNow } from "../../api/session";

export type Room = "processes" | "tasks";
export type Search = Record<string, unknown>;

const who = (): string => nameOf(sessionNow()) ?? "";

export const views = (room: Room) =>
  queryOptions<readonly Entry[], Problem, Entry[]>({
    queryKey: ["kept", "views", who()],
    queryFn: () => keeper().list("views"),
    select: (all: readonly Entry[]) => sorted(all.filter((each) => each.name.startsWith(`${room}-`))),
  });

const sorted = (all: Entry[]): Entry[] => all.toSorted((a, b) => Number(isOthers(a)) - Number(isOthers(b)) || a.title.localeCompare(b.title));

export const isOthers = (entry: Entry): boolean => isKeptByServer() && entry.owner !== who();

/** What it shows, as it was saved. Others may have written it, so the room reads it like an address. */
export async function searchOf(entry: Entry): Promise<Search> {
  const { body } = await keeper().get("views", entry.name, isOthers(entry) ? entry.owner : undefined);
  return typeof body.search === "object" && body.search !== null ? (body.search as Search) : {};
}

const again = () => queries.invalidateQueries({ queryKey: ["kept", "views"] });

/** Takes the place of `before`, or is a new one. */
export async function save(room: Room, title: string, search: Search, before: Entry | undefined): Promise<void> {
  const content: Content = { title, shared: before?.shared ?? false, body: { search } };
  try {
    await keeper().put("views", before?.name ?? `${room}-${newId()}`, content, before?.revision ?? null);
  } finally {
    await again();
  }
}

export async function share(entry: Entry, shared: boolean): Promise<void> {
  try {
    const { body } = await keeper().get("views", entry.name);
    await keeper().put("views", entry.name, { title: entry.title, shared, body }, entry.revision);
  } finally {
    await again();
  }
}

export async function drop(entry: Entry): Promise<void> {
  try {
    await keeper().drop("views", entry.name, entry.revision);
  } finally {
    await again();
  }
}

/** Views that this browser had before somebody logged in. */
export const leftBehind = (room: Room) =>
  queryOptions({
    queryKey: ["kept", "views", "left"],
    queryFn: async () => (isKeptByServer() ? await browser.list("views") : []),
    select: (all: readonly Entry[]) => all.filter((each) => each.name.startsWith(`${room}-`)),
  });

/** Each leaves the browser once the server has it. */
export async function take(all: readonly Entry[]): Promise<void> {
  try {
    for (const { name, revision } of all) {
      const { title, body } = await browser.get("views", name);
      await server.put("views", `${name.slice(0, name.lastIndexOf("-"))}-${newId()}`, { title, shared: false, body }, null);
      await browser.drop("views", name, revision);
    }
  } finally {
    await again();
  }
}
