// Numbers, times and spans of time as people read them.
import { zoneNow } from "./zone";

const numbers = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
/** Formats of dates are dear to make: one of each zone is kept. */
const made = new Map<string, Intl.DateTimeFormat>();
function dates(name: string, zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${name} ${zone}`;
  const format = made.get(key) ?? new Intl.DateTimeFormat("en", { ...options, timeZone: zone || undefined });
  made.set(key, format);
  return format;
}
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

export const number = (value: number): string => numbers.format(value);
/** 1234 as 1.2K: where there is little room. */
export const compact = (value: number): string => (value < 10_000 ? numbers.format(value) : short.format(value));
/** A count that the server stopped at some number. */
export const atLeast = (value: number, more: boolean): string => (more ? `${numbers.format(value)}+` : numbers.format(value));
export const exactIn = (iso: string, zone: string): string =>
  dates("exact", zone, { year: "numeric", month: "short", day: "numeric", ...CLOCK, timeZoneName: "short" }).format(new Date(iso));
/** A moment in full, with its zone. */
export const exact = (iso: string): string => exactIn(iso, zoneNow());
/** Hour and minute. */
export const clock = (iso: string): string => dates("minute", zoneNow(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(iso));
/** Hour and minute of today, or the day as well; the year where it is another one. */
export const moment = (iso: string, now: number): string => momentIn(iso, now, zoneNow());

export function momentIn(iso: string, now: number, zone: string): string {
  const then = new Date(iso);
  const clock = dates("clock", zone, CLOCK).format(then);
  if (Math.abs(now - then.getTime()) < 12 * 3_600_000) return clock;
  const year = dates("whole year", zone, { year: "numeric" });
  const other = year.format(then) !== year.format(now);
  const day = dates(other ? "year" : "day", zone, { month: "short", day: "numeric", ...(other ? { year: "numeric" } : {}) }).format(then);
  return other ? day : `${day}, ${clock}`;
}

const UNITS = [
  ["year", 31_536_000_000],
  ["month", 2_592_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** "3 min. ago", "in 2 days"; what is within a few seconds is "now". */
export function fromNow(iso: string, now: number): string {
  const ms = new Date(iso).getTime() - now;
  if (Math.abs(ms) < 5_000) return "now";
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? ["second", 1_000];
  return relative.format(Math.trunc(ms / size), unit);
}

const PARTS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A span of time in its two largest units: "2 d 4 h", "3 min 20 s", "840 ms". */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const first = PARTS.findIndex(([, size]) => ms >= size);
  const [name, size] = PARTS[first] ?? PARTS[3];
  const whole = Math.floor(ms / size);
  const next = PARTS[first + 1];
  const rest = next ? Math.floor((ms % size) / next[1]) : 0;
  return next && rest > 0 ? `${whole} ${name} ${rest} ${next[0]}` : `${whole} ${name}`;
}

export const between = (from: string, to: string | null | undefined, now: number): string =>
  span((to ? new Date(to).getTime() : now) - new Date(from).getTime());
