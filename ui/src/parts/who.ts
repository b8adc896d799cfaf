// The name that tasks are claimed by: that of the person who is logged in. Where nobody logs in one says it once, and the browser keeps it.
import { useSyncExternalStore } from "react";
import { nameOf, useSession } from "../api/session";

const KEPT = "skep-who";
const listeners = new Set<() => void>();

export function keepWho(name: string) {
  localStorage.setItem(KEPT, name);
  for (const listener of listeners) listener();
}

/** Empty while nobody has said it. */
export function useWho(): string {
  const kept = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => localStorage.getItem(KEPT) ?? "",
  );
  return nameOf(useSession()) ?? kept;
}
