// What guarded.mjs offers.
import type { Client } from "./seed.mjs";
export const GUARDED: string[];
export function basic(name: string, password: string): Record<string, string>;
export const TENANTED: string[];
export function tenants(root: Client, model: string): Promise<void>;
export function people(url: string): Promise<Client>;
