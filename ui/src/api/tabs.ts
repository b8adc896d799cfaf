// What tabs of one browser tell each other: that somebody has logged in or out, or that a session is over. It is no more than the word: who
// hears it asks the server who one is.
import { base } from "./base";

const WORDS = ["in", "out", "over"] as const;
export type Word = (typeof WORDS)[number];

/** Other servers may be behind other paths of the same host. */
const channel = typeof document === "undefined" || typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(`skep-session ${base}`);

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin alone
export const tellTabs = (word: Word): void => channel?.postMessage(word);

export function hearTabs(listener: (word: Word) => void) {
  channel?.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    const word = WORDS.find((each) => each === data);
    if (word !== undefined) listener(word);
  });
}
