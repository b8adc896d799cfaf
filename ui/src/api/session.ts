// Who one is. The server says it: a person, that nobody has logged in yet, or that it asks nobody at all.
import { useSyncExternalStore } from "react";
import { access, base } from "./base";
import type { Answer } from "./client";
import { Problem, problemOf } from "./problem";
import { type Word, tellTabs } from "./tabs";

export type Me = Answer<"/authentication/me", "get">;

/** `over`: there was a session, and pages that are open wait for another one; `by` is who has logged in meanwhile, and is somebody else. */
export type Session =
  | { kind: "unknown" }
  | { kind: "open"; why: "absent" | "unprotected" }
  | { kind: "in"; me: Me }
  | { kind: "out"; at: At }
  | { kind: "over"; at: At; me: Me | undefined; by?: Me };

/** Where one logs in: here by name and password, or at an identity provider. */
export type At = "here" | "provider";

let session: Session = { kind: "unknown" };
let token = "";
/** The token of the session of who is known to look at the page: each login has its own. */
let seen = "";
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
  const sent = fromCookie();
  const answer = await fetch(`${base}/v2/authentication/me`, { headers: { accept: "application/json" } });
  hear(answer);
  if (answer.ok) {
    seen = sent;
    return { kind: "in", me: (await answer.json()) as Me };
  }
  if (answer.status === 501 || answer.status === 404) return { kind: "open", why: "absent" };
  if (answer.status !== 401) throw await problemOf(answer);
  if ((await answer.text()) === "") return { kind: "open", why: "unprotected" };
  return { kind: "out", at: answer.headers.get("www-authenticate")?.startsWith("Bearer") ? "provider" : "here" };
}

let asked: Promise<void> | undefined;

/** Resolves once it is known; a server that cannot say it now is taken for one that asks nobody, until it refuses something. */
export function knowSession(): Promise<void> {
  asked ??= (access === "open" ? Promise.resolve<Session>({ kind: "open", why: "unprotected" }) : ask()).then(
    (found) => {
      if (session.kind === "unknown") become(found);
      // One comes from the identity provider by a load of the page, and to one without a session as well.
      if (found.kind === "in") tellTabs("in");
      if (found.kind === "out") tellTabs("over");
    },
    () => {
      asked = undefined;
    },
  ) as Promise<void>;
  return asked;
}

/** Several wait for one answer. */
let checking: Promise<Session> | undefined;
function askOnce(): Promise<Session> {
  checking ??= ask().finally(() => (checking = undefined));
  return checking.catch((): Session => session);
}

const wait = (): Promise<boolean> => new Promise((resolve) => waiting.push(resolve));

/**
 * Whether a request would be of who looks at the page. The session of a browser is that of all its tabs: when somebody else has logged in in
 * another one, it waits until the first is back.
 */
export async function isMine(): Promise<boolean> {
  if ((session.kind === "in" || session.kind === "over") && fromCookie() !== seen) meet(await askOnce());
  const now = sessionNow();
  return now.kind === "over" && now.by !== undefined ? wait() : true;
}

/** Of an answer to who looks at the page, while somebody does or did: it goes on with the same person, and waits for them with another. */
function meet(found: Session) {
  if (found.kind !== "in" || (session.kind !== "in" && session.kind !== "over")) return;
  const { me } = session;
  if (me !== undefined && me.username !== found.me.username) {
    become({ kind: "over", at: whereNow(), me, by: found.me });
    return;
  }
  become(found);
  settle(true);
}

/** Resolves with whether the same request may be sent once more. */
export async function refused(): Promise<boolean> {
  if (session.kind === "out") return false;
  if (session.kind !== "over") {
    const me = meOf(session);
    const found = await askOnce();
    // Somebody is there: then it was not about who one is.
    if (found.kind !== "out") return false;
    if (sessionNow().kind !== "over") become({ kind: "over", at: found.at, me });
    tellTabs("over");
  }
  return wait();
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
    tellTabs("in");
    return { kind: "in" };
  } catch (error) {
    return { kind: "failed", problem: error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error)) };
  }
}

/** Somebody may have logged in elsewhere, in another tab: what waits goes on if it is the same person, and waits on if it is another. */
export async function lookAgain(): Promise<void> {
  if (session.kind === "over") meet(await askOnce());
}

/**
 * What another tab has said: the server is asked at once who one is, not with the next question of the page. Resolves with whether the person
 * of the page has logged out.
 */
export async function heard(word: Word): Promise<boolean> {
  const { kind } = session;
  if (kind === "out" ? word !== "in" : kind !== "in" && kind !== "over") return false;
  // Each login has a cookie of its own.
  if (kind === "in" && word === "in" && fromCookie() === seen) return false;
  // Not by a question that is under way: its answer may be from before.
  const found = await ask().catch((): Session => (word === "out" ? { kind: "out", at: whereNow() } : session));
  const now = sessionNow();
  if (found.kind === "in") {
    if (now.kind === "out") become(found);
    else meet(found);
  } else if (found.kind === "out" && (now.kind === "in" || now.kind === "over")) {
    // Who has logged in meanwhile may log out: that ends nothing on this page.
    if (word === "out" && !(now.kind === "over" && now.by !== undefined)) {
      become(found);
      settle(false);
      return true;
    }
    become({ kind: "over", at: found.at, me: now.me });
  }
  return false;
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
  tellTabs("out");
  return there;
}
