// Single keys: where nobody writes, `g p` goes to the processes, `/` to the filter. They can be switched off (WCAG 2.1.4).
import { useEffect } from "react";
import { repeating } from "../api/live";
import { roomsNow } from "./session/rights";
import { router } from "./router";

const OFF = "skep-single-keys";
export const singleKeys = {
  on: () => localStorage.getItem(OFF) !== "off",
  set: (on: boolean) => localStorage.setItem(OFF, on ? "on" : "off"),
};

const writing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The arrow that a letter stands for in lists, as in many programs for reading. */
const arrows: Record<string, string> = { j: "ArrowDown", k: "ArrowUp", x: " " };

/** A list of links: J and K go along them, X chooses the one that has the focus. */
function inLinks(rows: HTMLElement[], key: string): boolean {
  const at = rows.indexOf(document.activeElement as HTMLElement);
  if (key === "x") rows[at]?.parentElement?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
  else rows[key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)]?.focus();
  return true;
}

function inList(key: string): boolean {
  const arrow = arrows[key];
  if (arrow === undefined) return false;
  const links = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  if (links.length > 0) return inLinks(links, key);
  const here = document.activeElement;
  const row = here?.closest('[role="row"]');
  if (!row) {
    document.querySelector<HTMLElement>('[role="grid"] [role="row"]:has([role="rowheader"])')?.focus();
    return true;
  }
  here?.dispatchEvent(new KeyboardEvent("keydown", { key: arrow, code: arrow === " " ? "Space" : arrow, bubbles: true, cancelable: true }));
  return true;
}

function single(key: string, before: string): boolean {
  if (before === "g") {
    const room = roomsNow().find((room) => room.key === key);
    if (room) void router.navigate({ to: room.to });
    return room !== undefined;
  }
  if (key === "/") {
    const filter = document.querySelector<HTMLElement>("[data-filter]");
    filter?.focus();
    return filter !== null;
  }
  if (key === "?") void router.navigate({ to: "/help" });
  else if (key === "p") repeating.toggle();
  else return inList(key);
  return true;
}

export function useKeys(openPalette: () => void) {
  useEffect(() => {
    let before = "";
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        openPalette();
        return;
      }
      const free = !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented && !writing(event.target);
      if (!free || !event.isTrusted || !singleKeys.on() || document.querySelector('[role="dialog"]')) return;
      if (single(event.key, before)) event.preventDefault();
      before = event.key;
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [openPalette]);
}
