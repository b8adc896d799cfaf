// A command with what is said when it is done, or refused.
import { useState } from "react";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";

export function useAct() {
  const [busy, setBusy] = useState(false);
  /** Resolves with whether it was done. */
  const act = async (command: () => Promise<unknown>, said: string): Promise<boolean> => {
    if (busy) return false;
    setBusy(true);
    try {
      await command();
      announce("done", said);
      return true;
    } catch (error) {
      failed(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, act };
}
