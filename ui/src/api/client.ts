// The one way to the server: types from its description, failures as problems, and how far its searches are behind.
import { base } from "./base";
import { type Branded } from "./keys";
import { Problem, problemOf } from "./problem";
import type { paths } from "./schema";
import { csrf, hear, isMine, refused } from "./session";
import { note } from "./timing";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Operation<P extends keyof paths, M extends Method> = paths[P][M];
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];

export type Body<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody?: { content: { "application/json": infer B } } } ? NonNullable<B> : undefined;
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: { 200: { content: { "application/json": infer A } } } }
    ? Branded<A>
    : Operation<P, M> extends { responses: { 202: { content: { "application/json": infer A } } } }
      ? Branded<A>
      : void;
type Names<P> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
export type Parameters<P extends string> = Record<Names<P>, string>;

export interface Options {
  /** Names and values of the query. */
  query?: Record<string, string>;
  /** An answer that is a moment old will do. */
  eventual?: boolean;
  /** So will one that another browser got, at most so many seconds ago. */
  shared?: number;
  /** Called with how many seconds old an answer is that others got before. */
  aged?: (seconds: number) => void;
  signal?: AbortSignal;
  /** The revision that a change replaces; null where it makes something new. */
  replaces?: string | null;
}

export { base } from "./base";

/** Who wants to know how many milliseconds answers are behind; 0 when they are not. */
const listeners = new Set<() => void>();
let behindMs = 0;
export const behind = {
  now: () => behindMs,
  listen(listener: () => void) {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

export function tellBehind(ms: number) {
  if (ms === behindMs) return;
  behindMs = ms;
  for (const listener of listeners) listener();
}

const at = (path: string, parameters: Record<string, string>, query: Record<string, string> = {}): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ""));
  const search = new URLSearchParams(query).toString();
  // What is of Skep alone stands beside the API.
  const root = path.startsWith("/skep/") ? base : `${base}/v2`;
  return `${root}${filled}${search === "" ? "" : `?${search}`}`;
};

/** One request that the description has; the answer with its body unread. */
export function send<M extends Method, P extends PathWith<M> & string>(
  method: M,
  path: P,
  parameters: Parameters<P>,
  body: string | FormData | undefined,
  options?: Options,
): Promise<Response> {
  return request(method, path, parameters, body, options);
}

async function request(
  method: Method,
  path: string,
  parameters: Record<string, string>,
  body: string | FormData | undefined,
  options: Options = {},
): Promise<Response> {
  const headers: Record<string, string> = {};
  if (typeof body === "string") headers["content-type"] = "application/json";
  if (options.eventual) headers["skep-consistency"] = "eventual";
  if (options.replaces === null) headers["if-none-match"] = "*";
  else if (options.replaces !== undefined) headers["if-match"] = `"${options.replaces}"`;
  if (options.shared !== undefined) {
    headers["skep-consistency"] = "shared";
    headers["cache-control"] = `max-age=${options.shared}`;
  }
  const once = async () => {
    const began = performance.now();
    const answered = await fetch(at(path, parameters, options.query), { method: method.toUpperCase(), headers: { ...headers, ...csrf(method) }, body, signal: options.signal });
    note({ name: `${method.toUpperCase()} ${path}`, ms: performance.now() - began, failed: answered.status >= 500 });
    return answered;
  };
  if (!(await isMine())) throw new Problem(401, "UNAUTHORIZED", "Somebody else has logged in meanwhile.");
  let answer: Response;
  try {
    answer = await once();
    // A session ended: once there is another one, the same is asked again.
    if (answer.status === 401 && (await refused())) answer = await once();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, "NO_ANSWER", String(error instanceof Error ? error.message : error));
  }
  hear(answer);
  if (!answer.ok) throw await problemOf(answer);
  if (!options.eventual) tellBehind(Number(answer.headers.get("skep-behind-ms") ?? "0"));
  const age = answer.headers.get("age");
  if (age !== null) options.aged?.(Number(age));
  return answer;
}

async function json<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** A question without a body. */
export async function get<P extends PathWith<"get"> & string>(
  path: P,
  parameters: Parameters<P>,
  options?: Options,
): Promise<Answer<P, "get">> {
  return json(await request("get", path, parameters, undefined, options));
}

/** A search or a command. */
export async function post<P extends PathWith<"post"> & string>(
  path: P,
  parameters: Parameters<P>,
  body: Body<P, "post">,
  options?: Options,
): Promise<Answer<P, "post">> {
  return json(await request("post", path, parameters, body === undefined ? undefined : JSON.stringify(body), options));
}

/** A change of a part. */
export async function patch<P extends PathWith<"patch"> & string>(path: P, parameters: Parameters<P>, body: Body<P, "patch">, options?: Options): Promise<Answer<P, "patch">> {
  return json(await request("patch", path, parameters, JSON.stringify(body), options));
}

/** A command whose body is JSON text as somebody wrote it: its numbers go as long as they are. */
export async function command<P extends PathWith<"post"> & string>(path: P, parameters: Parameters<P>, body: string): Promise<Answer<P, "post">> {
  return json(await request("post", path, parameters, body));
}

/** Takes something away. */
export async function remove<P extends PathWith<"delete"> & string>(path: P, parameters: Parameters<P>): Promise<void> {
  await request("delete", path, parameters, undefined);
}
