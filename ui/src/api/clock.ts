// The clock by which timers and timeouts of the whole cluster go: what it shows, set to a time, and let run again.
import { post, send } from "./client";
import { evaluate } from "./expression";
import { done, live, queries } from "./live";

/** So far a clock that runs may be from that of the machine that answers: answers take their time, and their date is in whole seconds. */
const APART = 3_000;
const KEY = ["clock"] as const;

/** What the clock shows while it is not the time of day. */
export interface Clock {
  /** `undefined`: it runs. */
  moved: string | undefined;
}

/** From the time of the cluster, and that of the machine, which no command moves. */
export function clockOf(shows: string, date: string | null): Clock {
  const apart = Math.abs(Date.parse(shows) - Date.parse(date ?? ""));
  return { moved: apart > APART ? shows : undefined };
}

/** No operation reads the clock, but expressions see it. */
export const clock = () =>
  live<Clock>(KEY, async ({ signal }) => {
    const { text, date } = await evaluate("=now()", "{}", undefined, signal);
    const { result } = JSON.parse(text) as { result: unknown };
    return clockOf(String(result), date);
  });

/** What is shown until the cluster itself has said it, and where it may not be asked. */
const shown = (moved: string | undefined) => queries.setQueryData<Clock>(KEY, { moved });

/** Sets it to a time, at which it stays. */
export const pinClock = (at: string): Promise<void> =>
  done(send("put", "/clock", {}, JSON.stringify({ timestamp: Date.parse(at) })).then(() => void shown(at)));

export const resetClock = (): Promise<void> => done(post("/clock/reset", {}, {}).then(() => void shown(undefined)));
