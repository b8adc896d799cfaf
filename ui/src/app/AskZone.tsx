// One of all the time zones that the browser knows.
import { type FormEvent, useState } from "react";
import { Dialog } from "../parts/Dialog";
import { text } from "../text";
import { allZones, ownZone, setZone } from "../text/zone";

const t = text.frame;

export default function AskZone({ zone, close }: { zone: string; close: () => void }) {
  const [chosen, choose] = useState(zone === "" ? ownZone() : zone);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setZone(chosen);
    close();
  };
  return (
    <Dialog title={t.zone} isOpen close={close}>
      <form onSubmit={submit}>
        <p className="muted dialog-hint">{t.zoneText}</p>
        <label>
          <span className="label">{t.zone}</span>
          <select className="field" value={chosen} onChange={(event) => choose(event.target.value)}>
            {[...new Set([...allZones(), chosen])].map((each) => (
              <option key={each} value={each}>
                {each.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main">
            {t.zoneSet}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
