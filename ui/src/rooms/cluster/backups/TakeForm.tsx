// One more backup: its id is the time, unless somebody wants another one.
import { type FormEvent, useState } from "react";
import { takeBackup } from "../../../api/management";
import { Dialog } from "../../../parts/Dialog";
import { useAct } from "../../../parts/act";
import { text } from "../../../text";
import { cluster as t } from "../../../text/cluster";

/** The largest number that goes into JSON as it is. */
const isId = (written: string): boolean => /^[1-9]\d*$/.test(written) && Number.isSafeInteger(Number(written));

export function TakeForm({ newest, close }: { newest: number; close: () => void }) {
  const [written, write] = useState(() => String(Math.max(Date.now(), newest + 1)));
  const [isWrong, setWrong] = useState(false);
  const { busy, act } = useAct();
  const take = async (event: FormEvent) => {
    event.preventDefault();
    const id = written.trim();
    if (id !== "" && !isId(id)) return setWrong(true);
    let begun = Number(id);
    const command = async () => {
      begun = (await takeBackup(id === "" ? undefined : Number(id))).backupId;
    };
    if (await act(command, () => t.takes(begun))) close();
  };
  return (
    <Dialog title={t.takeTitle} isOpen close={close}>
      <form className="take" onSubmit={(event) => void take(event)} noValidate>
        <p className="muted">{t.takeText}</p>
        <label className="label" htmlFor="backup-id">
          {t.id}
        </label>
        <input
          id="backup-id"
          className="field"
          inputMode="numeric"
          autoComplete="off"
          value={written}
          aria-describedby="backup-id-hint"
          aria-invalid={isWrong}
          onChange={(event) => {
            write(event.target.value);
            setWrong(false);
          }}
        />
        <p id="backup-id-hint" className={isWrong ? "bad" : "faint"} role={isWrong ? "alert" : undefined}>
          {isWrong ? t.wrongId : t.idHint}
        </p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={busy}>
            {t.take}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
