// Measured values as people read them.
import { compact } from "../../../text/format";

const trimmed = (value: number): string => (value >= 100 ? compact(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(2)).replace(/\.0+$/, "");

export const count = (value: number): string => compact(Math.round(value));

/** In a second. */
export const rate = (value: number): string => `${trimmed(value)}/s`;

/** Much of what is measured takes less than a millisecond. */
export function ms(value: number): string {
  if (value === 0) return "0 ms";
  if (value < 1) return `${trimmed(value * 1_000)} µs`;
  return value < 1_000 ? `${trimmed(value)} ms` : `${trimmed(value / 1_000)} s`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytes(value: number): string {
  const power = Math.min(SIZES.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10));
  return `${trimmed(value / 1024 ** power)} ${SIZES[power] ?? "B"}`;
}
