// A command with what is said when it is done, or refused.
import { useState } from "react";
import { announce } from "./announce";
import { failed } from "./failed";

export function useAct() {
  const [busy, setBusy] = useState(false);
  /** Resolves with whether it was done. What is said may depend on the answer. */
  const act = async (command: () => Promise<unknown>, said: string | (() => string)): Promise<boolean> => {
    if (busy) return false;
    setBusy(true);
    try {
      await command();
      announce("done", typeof said === "string" ? said : said());
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
