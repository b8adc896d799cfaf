// What guarded.mjs offers.
import type { Client } from "./seed.mjs";
export const GUARDED: string[];
export function basic(name: string, password: string): Record<string, string>;
export function people(url: string): Promise<Client>;
