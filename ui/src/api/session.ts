// Who one is. The server says it: a person, that nobody has logged in yet, or that it asks nobody at all.
import { useSyncExternalStore } from "react";
import { access, base } from "./base";
import type { Answer } from "./client";
import { Problem, problemOf } from "./problem";

export type Me = Answer<"/authentication/me", "get">;

/** `over`: there was a session, and pages that are open wait for another one. */
export type Session =
  | { kind: "unknown" }
  | { kind: "open"; why: "absent" | "unprotected" }
  | { kind: "in"; me: Me }
  | { kind: "out"; at: At }
  | { kind: "over"; at: At; me: Me | undefined };

/** Where one logs in: here by name and password, or at an identity provider. */
export type At = "here" | "provider";

let session: Session = { kind: "unknown" };
let token = "";
let waiting: ((in_: boolean) => void)[] = [];
const listeners = new Set<() => void>();

function become(next: Session) {
  session = next;
  for (const listener of listeners) listener();
}

export const sessionNow = (): Session => session;
export const useSession = (): Session =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, sessionNow);

export const meOf = (of: Session): Me | undefined => (of.kind === "in" || of.kind === "over" ? of.me : undefined);

/** Of the person who is logged in, also while a session is over and another one is waited for. */
export const nameOf = (of: Session): string | undefined => (meOf(of)?.username);

const HEADER = "X-CSRF-TOKEN";

const fromCookie = (): string => /(?:^|;\s*)X-CSRF-TOKEN=([^;]*)/.exec(typeof document === "undefined" ? "" : document.cookie)?.[1] ?? "";

/** What an unsafe request has to echo, so that no other page can send it in somebody's name. */
export function csrf(method: string): Record<string, string> {
  // The cookie is that of the session which goes with the request, also when another tab has begun it.
  const echoed = fromCookie() || token;
  return echoed === "" || /^(get|head)$/i.test(method) ? {} : { [HEADER]: echoed };
}

/** Answers hand the token out. */
export function hear(answer: Response) {
  token = answer.headers.get(HEADER) ?? token;
}

/** What the server says now of who one is. */
async function ask(): Promise<Session> {
  const answer = await fetch(`${base}/v2/authentication/me`, { headers: { accept: "application/json" } });
  hear(answer);
  if (answer.ok) return { kind: "in", me: (await answer.json()) as Me };
  if (answer.status === 501 || answer.status === 404) return { kind: "open", why: "absent" };
  if (answer.status !== 401) throw await problemOf(answer);
  if ((await answer.text()) === "") return { kind: "open", why: "unprotected" };
  return { kind: "out", at: answer.headers.get("www-authenticate")?.startsWith("Bearer") ? "provider" : "here" };
}

let asked: Promise<void> | undefined;

/** Resolves once it is known; a server that cannot say it now is taken for one that asks nobody, until it refuses something. */
export function knowSession(): Promise<void> {
  asked ??= (access === "open" ? Promise.resolve<Session>({ kind: "open", why: "unprotected" }) : ask()).then(
    (found) => session.kind === "unknown" && become(found),
    () => {
      asked = undefined;
    },
  ) as Promise<void>;
  return asked;
}

/** Resolves with whether the same request may be sent once more. Several wait for one answer. */
let checking: Promise<Session> | undefined;
export async function refused(): Promise<boolean> {
  if (session.kind === "out") return false;
  if (session.kind !== "over") {
    const me = meOf(session);
    checking ??= ask().finally(() => (checking = undefined));
    const found = await checking.catch((): Session => session);
    // Somebody is there: then it was not about who one is.
    if (found.kind !== "out") return false;
    if (sessionNow().kind !== "over") become({ kind: "over", at: found.at, me });
  }
  return new Promise((resolve) => waiting.push(resolve));
}

/** What waited goes on, or is refused as it was. */
function settle(in_: boolean) {
  const all = waiting;
  waiting = [];
  for (const each of all) each(in_);
}

export type Entry = { kind: "in" } | { kind: "wrong" } | { kind: "failed"; problem: Problem };

/** One try with a name and a password. */
export async function enter(name: string, password: string): Promise<Entry> {
  try {
    const answer = await fetch(`${base}/login`, { method: "POST", body: new URLSearchParams({ username: name, password }) });
    hear(answer);
    if (answer.status === 401) return { kind: "wrong" };
    if (!answer.ok) return { kind: "failed", problem: await problemOf(answer) };
    const found = await ask();
    if (found.kind !== "in") return { kind: "failed", problem: new Problem(0, "NO_SESSION", "") };
    become(found);
    settle(true);
    return { kind: "in" };
  } catch (error) {
    return { kind: "failed", problem: error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error)) };
  }
}

/** Somebody may have logged in elsewhere, in another tab: what waits goes on if it is the same person. */
export async function lookAgain(): Promise<void> {
  const before = sessionNow();
  if (before.kind !== "over") return;
  const found = await ask().catch((): Session => before);
  if (found.kind !== "in" || sessionNow().kind !== "over") return;
  const other = before.me !== undefined && before.me.username !== found.me.username;
  become(found);
  settle(!other);
}

const whereNow = (): At => (session.kind === "out" || session.kind === "over" ? session.at : "here");

/** Gives up what waits for another session. */
export function giveUp() {
  become({ kind: "out", at: whereNow() });
  settle(false);
}

/** A provider at which one can log in. */
export interface Way {
  id: string;
  name: string;
}

export async function ways(): Promise<Way[]> {
  const answer = await fetch(`${base}/oauth2/providers`, { headers: { accept: "application/json" } });
  if (!answer.ok) throw await problemOf(answer);
  return (await answer.json()) as Way[];
}

/** The address that leads there, and back to a path of this server. */
export const wayTo = (way: Way, to: string): string => `${base}/oauth2/authorization/${encodeURIComponent(way.id)}?to=${encodeURIComponent(to)}`;

/** Resolves with where one logs out as well. */
export async function leave(): Promise<string | undefined> {
  const answer = await fetch(`${base}/logout`, { method: "POST", headers: csrf("post"), redirect: "manual" });
  if (!answer.ok && answer.type !== "opaqueredirect" && answer.status !== 401) throw await problemOf(answer);
  token = "";
  const there = answer.headers.get("skep-logout-uri") ?? undefined;
  become({ kind: "out", at: there === undefined ? "here" : "provider" });
  return there;
}
