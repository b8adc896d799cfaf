// A listener to the user tasks of all processes.
import { type FormEvent, useState } from "react";
import { type Listener, saveListener } from "../../../api/settings";
import { Dialog } from "../../../parts/Dialog";
import { text } from "../../../text";
import { useAct } from "../../../parts/act";
import { isId } from "../entities/EntityForm";
import { Field } from "../Field";

const t = text.admin;
const EVENTS = ["creating", "assigning", "updating", "completing", "canceling"] as const;
type Event = Listener["eventTypes"][number];

const numberIn = (written: string): number | undefined => (/^-?\d{1,9}$/.test(written.trim()) ? Number(written) : undefined);

export function ListenerForm({ known, close }: { known?: Listener; close: () => void }) {
  const [id, setId] = useState(known?.id ?? "");
  const [type, setType] = useState(known?.type ?? "");
  const [events, setEvents] = useState<readonly Event[]>(known?.eventTypes ?? ["all"]);
  const [retries, setRetries] = useState(String(known?.retries ?? 3));
  const [priority, setPriority] = useState(String(known?.priority ?? 50));
  const [after, setAfter] = useState(known?.afterNonGlobal ?? false);
  const { busy, act } = useAct();
  const [tries, rank] = [numberIn(retries), numberIn(priority)];
  const ready = isId(id) && isId(type) && events.length > 0 && tries !== undefined && tries > 0 && rank !== undefined;
  const flip = (event: Event, on: boolean) => setEvents(on ? EVENTS.filter((each) => each === event || events.includes(each)) : events.filter((each) => each !== event));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    const of = { type, eventTypes: [...events], retries: tries, priority: rank, afterNonGlobal: after };
    if (await act(() => saveListener(known !== undefined, id, of), known === undefined ? t.created(id) : t.saved(id))) close();
  };
  return (
    <Dialog title={known === undefined ? t.listener : t.listenerEdit(known.id)} isOpen close={close}>
      <form className="admin-form" onSubmit={(event) => void submit(event)}>
        <Field label={t.listenerId} value={id} set={setId} mono readOnly={known !== undefined} autoFocus={known === undefined} bad={id === "" || isId(id) ? undefined : t.idBad} />
        <Field label={t.listenerType} value={type} set={setType} mono hint={t.listenerTypeText} bad={type === "" || isId(type) ? undefined : t.idBad} />
        <fieldset className="admin-permissions">
          <legend className="label">{t.events}</legend>
          <label className="row">
            <input type="checkbox" checked={events.includes("all")} onChange={(event) => setEvents(event.target.checked ? ["all"] : [])} />
            {t.eventNames.all}
          </label>
          {EVENTS.map((each) => (
            <label key={each} className="row">
              <input type="checkbox" checked={events.includes("all") || events.includes(each)} disabled={events.includes("all")} onChange={(event) => flip(each, event.target.checked)} />
              {t.eventNames[each]}
            </label>
          ))}
        </fieldset>
        <div className="admin-two">
          <Field label={t.retries} value={retries} set={setRetries} />
          <Field label={t.priority} value={priority} set={setPriority} />
        </div>
        <label>
          <span className="label">{t.order}</span>
          <select className="field" value={after ? "after" : "before"} onChange={(event) => setAfter(event.target.value === "after")}>
            <option value="before">{t.before}</option>
            <option value="after">{t.after}</option>
          </select>
        </label>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!ready || busy}>
            {t.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
