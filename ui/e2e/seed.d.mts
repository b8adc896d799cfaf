// What seed.mjs offers.
export interface SeededJob {
  jobKey: string;
  processInstanceKey: string;
}
export interface Client {
  send: (method: string, where: string, body?: unknown) => Promise<Record<string, unknown> & { items: Record<string, unknown>[] }>;
  post: Client["send"] extends (method: string, ...rest: infer Rest) => infer Answer ? (...rest: Rest) => Answer : never;
  deploy: (files: [string, string][], tenant?: string) => Promise<unknown>;
  start: (id: string, variables?: unknown, tenant?: string) => Promise<{ processInstanceKey: string }>;
  jobs: (type: string, most?: number, worker?: string) => Promise<SeededJob[]>;
  complete: (job: SeededJob, variables?: unknown) => Promise<unknown>;
  fail: (job: SeededJob, message: string, retries?: number) => Promise<unknown>;
}
export function client(base: string, headers?: Record<string, string>): Client;
export function seed(base: string, more?: number): Promise<void>;
export const HOSTILE: string;
export const LONG: string;
export const BIG: string;
