// What somebody has written on a task and not sent, and what of it the browser has (`keeping.ts`): at most for thirty days.
import type { TaskKey } from "../../api/keys";
import { nameOf, sessionNow } from "../../api/session";

export interface Draft {
  /** Values of the form that were touched, by name of the variable, with what they were before. */
  form: Record<string, { was: unknown; is: unknown }>;
  /** Variables as JSON text. */
  variables: Record<string, string>;
}

const PREFIX = "skep-draft-";
export const DAYS = 30;
export const NOTHING: Draft = { form: {}, variables: {} };

export const isEmpty = (draft: Draft): boolean => Object.keys(draft.form).length === 0 && Object.keys(draft.variables).length === 0;

function read(name: string): { at: number; draft: Draft } | undefined {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "") as { at: number; draft: Draft };
  } catch {
    return undefined;
  }
}

/** On a browser that several people log in on each has his own. */
const placeOf = (task: TaskKey): string => {
  const name = nameOf(sessionNow());
  return name === undefined ? PREFIX + task : `${PREFIX}${name}@${task}`;
};

export const draftOf = (task: TaskKey): Draft => read(placeOf(task))?.draft ?? NOTHING;

export function keepDraft(task: TaskKey, draft: Draft) {
  if (isEmpty(draft)) {
    localStorage.removeItem(placeOf(task));
    return;
  }
  try {
    localStorage.setItem(placeOf(task), JSON.stringify({ at: Date.now(), draft }));
  } catch {
    // The browser has no room: what was written stays on the page.
  }
}

/** Takes away what is older than anybody remembers. */
export function forgetOld(now = Date.now()) {
  for (const name of Object.keys(localStorage).filter((each) => each.startsWith(PREFIX))) {
    const kept = read(name);
    if (!kept || now - kept.at > DAYS * 86_400_000) localStorage.removeItem(name);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function again(value: unknown, was: unknown, is: unknown): unknown {
  if (JSON.stringify(was) === JSON.stringify(is)) return value;
  if (!isObject(value) || !isObject(was) || !isObject(is)) return is;
  return { ...value, ...Object.fromEntries(Object.entries(is).map(([name, each]) => [name, again(value[name], was[name], each)])) };
}

/** Values of now, with what was touched in the draft: what others changed since then, and it did not touch, is theirs. */
export function withDraft(values: Record<string, unknown>, draft: Draft): Record<string, unknown> {
  const touched = Object.entries(draft.form).map(([name, { was, is }]) => [name, again(values[name], was, is)]);
  return { ...values, ...(Object.fromEntries(touched) as Record<string, unknown>) };
}
