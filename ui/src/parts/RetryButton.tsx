// Another try, and the truth about it: when it fails again at once, that is said, and not that all went well.
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { retry } from "../api/commands";
import type { IncidentKey, JobKey } from "../api/keys";
import { rightsOn } from "../api/rights";
import { failed } from "./failed";
import { MayButton } from "./MayButton";
import { announce } from "./announce";
import { text } from "../text";

interface RetryProps {
  incident: IncidentKey;
  job: JobKey | null | undefined;
  /** The process that it is of. */
  process: string;
  main?: boolean;
}

export function RetryButton({ incident, job, process, main = false }: RetryProps) {
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
    <MayButton needs={rightsOn(process).update} className={`button small${main ? " main" : ""}`} disabled={busy} onClick={() => void go()}>
      <RotateCcw size={14} aria-hidden="true" />
      {text.commands.retry}
    </MayButton>
  );
}
