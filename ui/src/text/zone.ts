// In which time zone times are shown, and whether as moments or as how long ago they were. Kept in this browser.
import { useSyncExternalStore } from "react";

const ZONE = "skep-zone";
const STYLE = "skep-times";
const listeners = new Set<() => void>();

const kept = (name: string): string => (typeof localStorage === "undefined" ? "" : (localStorage.getItem(name) ?? ""));

const isZone = (name: string): boolean => {
  // Most keep none, and what is thrown costs more than all else that is done here.
  if (name === "") return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
};

/** Read once: formats ask for every row. A browser that does not know a zone that was kept shows its own. */
let zone = isZone(kept(ZONE)) ? kept(ZONE) : "";
let isExact = kept(STYLE) === "exact";

function keep(name: string, value: string) {
  if (value === "") localStorage.removeItem(name);
  else localStorage.setItem(name, value);
  for (const listener of listeners) listener();
}

/** The zone that somebody chose, `UTC` for instance; empty: that of the browser. */
export const zoneNow = (): string => zone;
const exactNow = (): boolean => isExact;

export function setZone(name: string) {
  zone = name;
  keep(ZONE, name);
}

export function setExact(on: boolean) {
  isExact = on;
  keep(STYLE, on ? "exact" : "");
}

const listen = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** For what shows times: drawn again when another zone is chosen. */
export const useZone = (): string => useSyncExternalStore(listen, zoneNow);
export const useExact = (): boolean => useSyncExternalStore(listen, exactNow);

export const ownZone = (): string => new Intl.DateTimeFormat("en").resolvedOptions().timeZone;
export const allZones = (): readonly string[] => Intl.supportedValuesOf("timeZone");

/** Milliseconds by which clocks of the zone are before UTC at a moment. */
function offset(at: number, name: string): number {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone: name || undefined, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
  }).formatToParts(at);
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = (["year", "month", "day", "hour", "minute", "second"] as const).map((type) =>
    Number(parts.find((part) => part.type === type)?.value),
  );
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
}

/** The moment at which clocks of the zone show what a field for date and time holds; one of two in the hour that comes twice. */
export function fromWall(wall: string, name = zone): string | undefined {
  const asUtc = Date.parse(`${wall}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  const guess = asUtc - offset(asUtc, name);
  return new Date(asUtc - offset(guess, name)).toISOString();
}
