// What can be done with the whole instance.
import { Link } from "@tanstack/react-router";
import { Ban, GitCompareArrows, Route, RotateCcw } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { cancelInstance } from "../../api/commands";
import type { Instance } from "../../api/instances";
import type { InstanceKey } from "../../api/keys";
import { retryMany } from "../../api/many";
import { RIGHTS, type Right, rightsOn } from "../../api/rights";
import { announce } from "../../parts/announce";
import { Dialog } from "../../parts/Dialog";
import { failed } from "../../parts/failed";
import { MayButton, useLack } from "../../parts/MayButton";
import { isDoubtful } from "../../parts/reason";
import { text } from "../../text";

const t = text.commands;

export function Actions({ instance }: { instance: Instance }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  /** Takes away the notice that it is not known whether it was cancelled. */
  const doubt = useRef<() => void>(undefined);
  const key = instance.processInstanceKey;
  const rights = rightsOn(instance.processDefinitionId);
  const ended = instance.state !== "ACTIVE";
  useEffect(() => {
    if (!ended || busy) return;
    if (doubt.current !== undefined) {
      doubt.current();
      doubt.current = undefined;
      announce("done", instance.state === "TERMINATED" ? t.cancelled : t.endedMeanwhile);
    } else if (asking) announce("done", t.endedMeanwhile);
  }, [ended, busy, asking, instance.state]);
  if (ended) return null;
  const cancel = () => cancelInstance(key);
  const run = async (command: () => Promise<unknown>, said: string) => {
    setBusy(true);
    try {
      await command();
      announce("done", said);
    } catch (error) {
      const close = failed(error);
      // The instance itself will say whether it has ended.
      if (command === cancel && isDoubtful(error)) doubt.current = close;
    } finally {
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <span className="row wrap">
      {instance.hasIncident ? (
        <MayButton needs={RIGHTS.retry} className="button" disabled={busy} onClick={() => void run(() => retryMany({ processInstanceKey: key }), t.begun)}>
          <RotateCcw size={14} aria-hidden="true" />
          {t.retryAll}
        </MayButton>
      ) : null}
      <Change of={key} what="modify" needs={rights.modify}>
        <Route size={14} aria-hidden="true" />
        {text.change.modify}
      </Change>
      <Change of={key} what="migrate" needs={rights.update}>
        <GitCompareArrows size={14} aria-hidden="true" />
        {text.change.migrate}
      </Change>
      <MayButton needs={rights.cancel} className="button" onClick={() => setAsking(true)}>
        <Ban size={14} aria-hidden="true" />
        {t.cancel}
      </MayButton>
      <Dialog title={t.cancelTitle} isOpen={asking} close={() => setAsking(false)}>
        <p className="muted">{t.cancelText}</p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={() => setAsking(false)}>
            {text.words.cancel}
          </button>
          <button type="button" className="button danger" disabled={busy} onClick={() => void run(cancel, t.cancelled)}>
            {t.cancel}
          </button>
        </div>
      </Dialog>
    </span>
  );
}

interface ChangeProps {
  of: InstanceKey;
  what: "modify" | "migrate";
  needs: Right;
  children: ReactNode;
}

/** The way to a plan, for who may carry it out. */
function Change({ of, what, needs, children }: ChangeProps) {
  const lack = useLack(needs);
  if (lack !== undefined) {
    return (
      <MayButton needs={needs} className="button">
        {children}
      </MayButton>
    );
  }
  return (
    <Link className="button" to="/processes/i/$key" params={{ key: of }} search={{ do: what }}>
      {children}
    </Link>
  );
}
