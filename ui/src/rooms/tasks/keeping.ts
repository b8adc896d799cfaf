// Where a draft is kept: with a login by the server, so that it is there again in another browser, and in this browser until the server
// has it. What two browsers wrote on one task is joined: of a field that both wrote in, the later one counts.
import { type Keeper, isConflict, isKeptByServer, server } from "../../api/kept";
import type { TaskKey } from "../../api/keys";
import { Problem } from "../../api/problem";
import { nameOf, sessionNow } from "../../api/session";
import { DAYS, type Draft, NOTHING, draftOf, isEmpty, keepDraft } from "./draft";

/** `alone`: only in this browser, and why. */
export type Where = { kind: "browser" } | { kind: "sent" } | { kind: "sending" } | { kind: "large" } | { kind: "alone"; why: Problem };

/** What there is of a draft when its task is opened. */
export interface Restored {
  draft: Draft;
  /** The server's; null where it has none, or did not answer. */
  revision: string | null;
  /** ISO 8601; of the server. */
  changed?: string;
  /** Something of it is in this browser alone. */
  unsent: boolean;
}

type Server = Pick<Keeper, "get" | "put" | "drop">;

/** Milliseconds after the last change. */
const PAUSE = 800;
/** Milliseconds until what failed is tried again. */
const AGAIN = 5_000;
/** Bytes; an owner has 8 MiB for everything. */
const LARGEST = 64 * 1024;
/** How often other browsers may be faster before it is left to the next change. */
const ROUNDS = 3;
const PREFIX = "task-";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** What a body of the server says, without what is no draft. */
export function draftIn({ form, variables }: Record<string, unknown>): Draft {
  const touched = Object.entries(isObject(form) ? form : {}).flatMap(([name, each]) => (isObject(each) && "is" in each ? [[name, { was: each.was, is: each.is }] as const] : []));
  const written = Object.entries(isObject(variables) ? variables : {}).filter((each): each is [string, string] => typeof each[1] === "string");
  return { form: Object.fromEntries(touched), variables: Object.fromEntries(written) };
}

const joined = (theirs: Draft, ours: Draft): Draft => ({ form: { ...theirs.form, ...ours.form }, variables: { ...theirs.variables, ...ours.variables } });

/** Requests under way, also those of tasks that are closed. */
const underWay = new Map<TaskKey, Promise<void>>();

/** Nobody else keeps it where nobody is logged in. */
const ofSession = (): Server | undefined => (isKeptByServer() ? server : undefined);

export async function restore(task: TaskKey, from = ofSession()): Promise<Restored> {
  await underWay.get(task);
  const ours = draftOf(task);
  const unsent = !isEmpty(ours);
  if (from === undefined) return { draft: ours, revision: null, unsent };
  try {
    const { body, revision, changed } = await from.get("drafts", PREFIX + task);
    return { draft: joined(draftIn(body), ours), revision, changed, unsent };
  } catch {
    // It has none, or does not say so now: this browser's counts, and is joined with the server's when it is sent.
    return { draft: ours, revision: null, unsent };
  }
}

export class Keeping {
  private latest: Draft | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over = false;

  constructor(
    private readonly task: TaskKey,
    private readonly title: string,
    private revision: string | null,
    private readonly tell: (where: Where) => void,
    private readonly at = ofSession(),
  ) {}

  change(draft: Draft) {
    if (this.over) return;
    keepDraft(this.task, draft);
    if (this.at === undefined) return;
    this.latest = draft;
    this.tell({ kind: "sending" });
    this.later(PAUSE);
  }

  /** Sends what is left at once: the task is closed. */
  flush() {
    clearTimeout(this.timer);
    this.send();
  }

  /** The task is done, or what was written is not wanted: nothing of it stays anywhere. */
  async end(): Promise<void> {
    this.over = true;
    clearTimeout(this.timer);
    this.latest = undefined;
    await underWay.get(this.task);
    keepDraft(this.task, NOTHING);
    if (this.at !== undefined) await this.drop(this.at);
  }

  private later(pause: number) {
    clearTimeout(this.timer);
    if (!this.over) this.timer = setTimeout(() => this.send(), pause);
  }

  private send() {
    const { at, latest } = this;
    if (at === undefined || latest === undefined) return;
    if (underWay.has(this.task)) {
      this.later(PAUSE);
      return;
    }
    const sent = this.round(at, latest).finally(() => underWay.delete(this.task));
    underWay.set(this.task, sent);
  }

  private async round(at: Server, draft: Draft) {
    try {
      const isLarge = new TextEncoder().encode(JSON.stringify(draft)).length > LARGEST;
      if (isEmpty(draft)) await this.drop(at);
      else if (!isLarge) await this.put(at, draft);
      if (this.latest !== draft) return this.later(PAUSE);
      this.latest = undefined;
      if (isLarge) return this.tell({ kind: "large" });
      keepDraft(this.task, NOTHING);
      this.tell({ kind: "sent" });
    } catch (error) {
      const why = error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error));
      this.tell({ kind: "alone", why });
      if (why.isPassing) this.later(AGAIN);
    }
  }

  private async put(at: Server, draft: Draft) {
    let ours = draft;
    for (let round = 1; ; round++) {
      try {
        this.revision = await at.put("drafts", PREFIX + this.task, { title: this.title.slice(0, 200), shared: false, body: { ...ours } }, this.revision);
        return;
      } catch (error) {
        if (round === ROUNDS || !isOther(error)) throw error;
        const theirs = await there(at, this.task);
        this.revision = theirs?.revision ?? null;
        if (theirs) ours = joined(draftIn(theirs.body), draft);
      }
    }
  }

  private async drop(at: Server) {
    for (let round = 1; this.revision !== null; round++) {
      try {
        await at.drop("drafts", PREFIX + this.task, this.revision);
        this.revision = null;
      } catch (error) {
        if (round === ROUNDS || !isOther(error)) throw error;
        this.revision = (await there(at, this.task))?.revision ?? null;
      }
    }
  }
}

const there = (at: Server, task: TaskKey) =>
  at.get("drafts", PREFIX + task).catch((error: unknown) => {
    if (error instanceof Problem && error.isGone) return undefined;
    throw error;
  });

/** Another browser was faster: it has another revision there, or none any more. */
const isOther = (error: unknown): boolean => isConflict(error) || (error instanceof Problem && error.isGone);

/** Takes away what the server has of tasks that nobody went back to. */
export async function forgetOldOfServer(now = Date.now()): Promise<void> {
  if (!isKeptByServer()) return;
  const me = nameOf(sessionNow());
  const old = (await server.list("drafts")).filter((each) => each.owner === me && each.name.startsWith(PREFIX) && now - Date.parse(each.changed) > DAYS * 86_400_000);
  for (const each of old) await server.drop("drafts", each.name, each.revision);
}
