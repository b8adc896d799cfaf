// What can be done with the whole instance.
import { Link } from "@tanstack/react-router";
import { Ban, GitCompareArrows, Route, RotateCcw } from "lucide-react";
import { useState } from "react";
import { cancelInstance } from "../../api/commands";
import type { Instance } from "../../api/instances";
import { retryMany } from "../../api/many";
import { announce } from "../../parts/announce";
import { Dialog } from "../../parts/Dialog";
import { failed } from "../../parts/failed";
import { text } from "../../text";

const t = text.commands;

export function Actions({ instance }: { instance: Instance }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const key = instance.processInstanceKey;
  if (instance.state !== "ACTIVE") return null;
  const run = async (command: () => Promise<unknown>, said: string) => {
    setBusy(true);
    try {
      await command();
      announce("done", said);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <span className="row wrap">
      {instance.hasIncident ? (
        <button type="button" className="button" disabled={busy} onClick={() => void run(() => retryMany({ processInstanceKey: key }), t.begun)}>
          <RotateCcw size={14} aria-hidden="true" />
          {t.retryAll}
        </button>
      ) : null}
      <Link className="button" to="/processes/i/$key" params={{ key }} search={{ do: "modify" }}>
        <Route size={14} aria-hidden="true" />
        {text.change.modify}
      </Link>
      <Link className="button" to="/processes/i/$key" params={{ key }} search={{ do: "migrate" }}>
        <GitCompareArrows size={14} aria-hidden="true" />
        {text.change.migrate}
      </Link>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        <Ban size={14} aria-hidden="true" />
        {t.cancel}
      </button>
      <Dialog title={t.cancelTitle} isOpen={asking} close={() => setAsking(false)}>
        <p className="muted">{t.cancelText}</p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={() => setAsking(false)}>
            {text.words.cancel}
          </button>
          <button type="button" className="button danger" disabled={busy} onClick={() => void run(() => cancelInstance(key), t.cancelled)}>
            {t.cancel}
          </button>
        </div>
      </Dialog>
    </span>
  );
}
