// A batch operation at work is suspended, goes on, or ends early.
import { Ban, Pause, Play } from "lucide-react";
import { useState } from "react";
import type { Batch } from "../../api/batches";
import { cancelBatch, resumeBatch, suspendBatch } from "../../api/commands";
import { RIGHTS } from "../../api/rights";
import { Dialog } from "../../parts/Dialog";
import { failed } from "../../parts/failed";
import { MayButton } from "../../parts/MayButton";
import { text } from "../../text";

const t = text.batches;

export function Control({ operation }: { operation: Batch }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const key = operation.batchOperationKey;
  const suspended = operation.state === "SUSPENDED";
  if (!suspended && operation.state !== "ACTIVE" && operation.state !== "CREATED") return null;
  const run = async (command: () => Promise<void>) => {
    setBusy(true);
    try {
      await command();
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <span className="row">
      <MayButton needs={RIGHTS.control} className="button small" disabled={busy} onClick={() => void run(() => (suspended ? resumeBatch(key) : suspendBatch(key)))}>
        {suspended ? <Play size={14} aria-hidden="true" /> : <Pause size={14} aria-hidden="true" />}
        {suspended ? t.resume : t.suspend}
      </MayButton>
      <MayButton needs={RIGHTS.control} className="button small" onClick={() => setAsking(true)}>
        <Ban size={14} aria-hidden="true" />
        {t.cancel}
      </MayButton>
      <Dialog title={`${t.cancel}?`} isOpen={asking} close={() => setAsking(false)}>
        <p className="muted">{t.cancelText}</p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={() => setAsking(false)}>
            {text.words.cancel}
          </button>
          <button type="button" className="button danger" disabled={busy} onClick={() => void run(() => cancelBatch(key))}>
            {t.cancel}
          </button>
        </div>
      </Dialog>
    </span>
  );
}
