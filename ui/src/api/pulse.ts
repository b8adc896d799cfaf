// The beat of a page: it asks the server for its pulse, and for what has changed. All tabs of a browser share six connections, so
// nothing is held open.
import type { Query } from "@tanstack/react-query";
import { base } from "./base";
import { tellBehind } from "./client";
import { kindsOf } from "./kinds";
import { HIDDEN, isDue, isLed, moves, queries, repeating } from "./live";
import type { components } from "./schema";
import { sessionNow } from "./session";

type Pulse = components["schemas"]["Pulse"];

const EVERY = 5_000;
const LOOK = 1_000;
const PATIENCE = 10_000;

let tag: string | undefined;
let asking = false;
let askedAt = Number.NEGATIVE_INFINITY;

async function ask(): Promise<void> {
  const answer = await fetch(`${base}/skep/v1/pulse`, {
    cache: "no-store",
    headers: { accept: "application/json", ...(tag === undefined ? {} : { "if-none-match": tag }) },
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (answer.status === 304) return moves.same(Date.now());
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  const { versions, behindMs } = (await answer.json()) as Pulse;
  moves.take(versions, Date.now());
  tellBehind(behindMs);
  tag = answer.headers.get("etag") ?? undefined;
}

async function beat(now: number): Promise<void> {
  asking = true;
  askedAt = now;
  try {
    await ask();
  } catch {
    // A server of an earlier version, or none: questions keep their intervals.
    moves.lose();
    tag = undefined;
  } finally {
    asking = false;
  }
}

/** Its shortest interval, of those who look at it. */
const everyOf = (query: Query): number =>
  Math.min(...query.observers.map(({ options }) => (typeof options.meta?.every === "number" ? options.meta.every : Number.POSITIVE_INFINITY)));

/** The questions on the screen that the pulse speaks of. */
const followed = (): Query[] => queries.getQueryCache().findAll({ type: "active" }).filter((query) => isLed(query.queryKey, everyOf(query)));

/** Asks again for what may have changed. */
function repeat(now: number) {
  for (const query of followed()) {
    const kinds = kindsOf(query.queryKey);
    if (kinds === undefined || query.state.fetchStatus !== "idle" || !isDue(query, kinds, everyOf(query), now, document.hidden)) continue;
    void queries.refetchQueries({ queryKey: query.queryKey, exact: true, type: "active" }, { cancelRefetch: false });
  }
}

async function look(every: number) {
  // Without a login the server would refuse each pulse.
  const { kind } = sessionNow();
  if (repeating.paused() || asking || kind === "out" || kind === "over" || followed().length === 0) return;
  const now = Date.now();
  if (now - askedAt >= every) await beat(now);
  if (!repeating.paused()) repeat(Date.now());
}

/** From now on the page follows what happens. */
export function follow() {
  void look(0);
  setInterval(() => void look(document.hidden ? HIDDEN : EVERY), LOOK);
  // A page that comes to the front again shows at once what has changed.
  document.addEventListener("visibilitychange", () => document.hidden || void look(LOOK));
}
