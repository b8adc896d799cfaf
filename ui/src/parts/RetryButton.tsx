// Another try, and the truth about it: when it fails again at once, that is said, and not that all went well.
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { retry } from "../api/commands";
import type { IncidentKey, JobKey } from "../api/keys";
import { failed } from "./failed";
import { announce } from "./announce";
import { text } from "../text";

interface RetryProps {
  incident: IncidentKey;
  job: JobKey | null | undefined;
  main?: boolean;
}

export function RetryButton({ incident, job, main = false }: RetryProps) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      await retry(incident, job);
      announce("done", text.commands.retried);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" className={`button small${main ? " main" : ""}`} disabled={busy} onClick={() => void go()}>
      <RotateCcw size={14} aria-hidden="true" />
      {text.commands.retry}
    </button>
  );
}
