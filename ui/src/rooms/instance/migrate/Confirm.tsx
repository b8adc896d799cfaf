// The last question before a migration; what the server says against it is shown here.
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { migrate } from "../../../api/change";
import type { Instance } from "../../../api/instances";
import type { Definition } from "../../../api/processes";
import { announce } from "../../../parts/announce";
import { Dialog } from "../../../parts/Dialog";
import { text } from "../../../text";
import { Refusal } from "../Refusal";
import { type Row, pairsOf } from "../../../parts/mapping";

const t = text.change;

export function Confirm({ instance, to, rows, close }: { instance: Instance; to: Definition; rows: readonly Row[]; close: () => void }) {
  const router = useRouter();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<unknown>();
  const key = instance.processInstanceKey;
  const pairs = pairsOf(rows);
  const name = `${to.name ?? to.processDefinitionId}, ${text.processes.versionOf(to.version, to.versionTag)}`;
  const go = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await migrate(key, to.processDefinitionKey, pairs);
      announce("done", t.migrated);
      await router.navigate({ to: "/processes/i/$key", params: { key } });
    } catch (error) {
      setRefusal(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.migrateTitle(name)} isOpen close={close}>
      <p>{t.ready(pairs.length)}</p>
      <p className="muted">{t.migrateText}</p>
      <Refusal error={refusal} />
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {text.words.cancel}
        </button>
        <button type="button" className="button main" disabled={busy} onClick={() => void go()}>
          {t.doMigrate}
        </button>
      </div>
    </Dialog>
  );
}
