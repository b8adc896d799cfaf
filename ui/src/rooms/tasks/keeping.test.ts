// A draft reaches the server, is joined with what another browser wrote, and leaves nothing behind.
import { beforeEach, expect, it, vi } from "vitest";
import { type Content, type Kept, type Keeper } from "../../api/kept";
import { type TaskKey, asKey } from "../../api/keys";
import { Problem } from "../../api/problem";
import { type Draft, NOTHING, draftOf } from "./draft";
import { Keeping, type Where, draftIn, restore } from "./keeping";

const TASK = asKey<TaskKey>("7");
const draft = (field: string, is: unknown): Draft => ({ form: { [field]: { was: null, is } }, variables: {} });

/** One object, with the revisions of a server. */
class Place implements Pick<Keeper, "get" | "put" | "drop"> {
  content: Content | undefined;
  revision = 0;
  away = false;
  private check(replaces: string | null) {
    if (this.away) throw new Problem(503, "UNAVAILABLE", "");
    const there = this.content === undefined ? null : String(this.revision);
    if (there !== replaces) throw there === null ? new Problem(404, "NOT_FOUND", "") : new Problem(412, "PRECONDITION_FAILED", "");
  }
  get = async (): Promise<Kept> => {
    if (this.content === undefined) throw new Problem(404, "NOT_FOUND", "");
    return { ...this.content, name: "task-7", owner: "anna", changed: "2026-11-28T10:00:00Z", revision: String(this.revision) };
  };
  put = async (_kind: string, _name: string, content: Content, replaces: string | null) => {
    this.check(replaces);
    this.content = structuredClone(content);
    return String(++this.revision);
  };
  drop = async (_kind: string, _name: string, revision: string) => {
    this.check(revision);
    this.content = undefined;
  };
}

let place: Place;
let said: Where[];
const keeping = (revision: string | null = null) => new Keeping(TASK, "Assess", revision, (where) => said.push(where), place);

beforeEach(() => {
  vi.useFakeTimers();
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => kept.set(name, value), removeItem: (name: string) => kept.delete(name) });
  place = new Place();
  said = [];
});

it("is sent a moment after the last change, and is in this browser until then", async () => {
  const one = keeping();
  one.change(draft("note", "a"));
  one.change(draft("note", "ab"));
  expect(draftOf(TASK).form.note?.is).toBe("ab");
  expect(place.content).toBeUndefined();
  await vi.advanceTimersByTimeAsync(800);
  expect(place.content).toMatchObject({ title: "Assess", shared: false, body: draft("note", "ab") });
  expect(place.revision).toBe(1);
  expect(draftOf(TASK)).toEqual(NOTHING);
  expect(said.at(-1)).toEqual({ kind: "sent" });
  expect(await restore(TASK, place)).toMatchObject({ draft: draft("note", "ab"), revision: "1", unsent: false });
});

it("is joined with what another browser wrote meanwhile", async () => {
  const [here, there] = [keeping(), keeping()];
  here.change(draft("note", "here"));
  await vi.advanceTimersByTimeAsync(800);
  there.change(draft("amount", 5));
  await vi.advanceTimersByTimeAsync(800);
  expect(place.content?.body).toEqual({ form: { note: { was: null, is: "here" }, amount: { was: null, is: 5 } }, variables: {} });
});

it("leaves nothing once the task is done, also of what another browser wrote last", async () => {
  const one = keeping();
  one.change(draft("note", "a"));
  await vi.advanceTimersByTimeAsync(800);
  keeping().change(draft("amount", 5));
  await vi.advanceTimersByTimeAsync(800);
  one.change(draft("note", "b"));
  await one.end();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(place.content).toBeUndefined();
  expect(draftOf(TASK)).toEqual(NOTHING);
});

it("is tried again while the server is away, and stays in this browser", async () => {
  place.away = true;
  keeping().change(draft("note", "a"));
  await vi.advanceTimersByTimeAsync(800);
  expect(said.at(-1)?.kind).toBe("alone");
  expect(draftOf(TASK)).toEqual(draft("note", "a"));
  place.away = false;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(place.content?.body).toEqual(draft("note", "a"));
});

it("stays in this browser where it is too large", async () => {
  keeping().change(draft("note", "x".repeat(70_000)));
  await vi.advanceTimersByTimeAsync(800);
  expect(said.at(-1)).toEqual({ kind: "large" });
  expect(place.content).toBeUndefined();
  expect((await restore(TASK, place)).unsent).toBe(true);
});

it("reads no more of a body than a draft has", () => {
  expect(draftIn({ form: { a: { was: 1, is: 2, more: 3 }, b: "what?" }, variables: { c: "1", d: 2 }, other: true })).toEqual({ form: { a: { was: 1, is: 2 } }, variables: { c: "1" } });
  expect(draftIn({ form: [], variables: null })).toEqual(NOTHING);
});
