// Asking for the name that tasks are claimed by, where nobody logs in; and the groups of who is logged in.
import { UserRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { meOf, nameOf, useSession } from "../../api/session";
import { Dialog } from "../../parts/Dialog";
import { keepWho, useWho } from "../../parts/who";
import { text } from "../../text";

const t = text.tasks;
const NO_GROUPS: readonly string[] = [];

/** Those of the person who is logged in; where nobody logs in there are none. */
export const useGroups = (): readonly string[] => meOf(useSession())?.groups ?? NO_GROUPS;

interface AskProps {
  title: string;
  hint: string;
  label: string;
  button: string;
  initial: string;
  close: () => void;
  take: (name: string) => void;
}

/** Asks for the name of somebody. */
export function AskName({ title, hint, label, button, initial, close, take }: AskProps) {
  const [name, setName] = useState(initial);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    take(name.trim());
    close();
  };
  return (
    <Dialog title={title} isOpen close={close}>
      <form onSubmit={submit}>
        {hint === "" ? null : <p className="muted task-ask">{hint}</p>}
        <label>
          <span className="label">{label}</span>
          <input className="field task-wide" autoFocus value={name} maxLength={256} spellCheck="false" onChange={(event) => setName(event.target.value)} />
        </label>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={name.trim() === ""}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function AskWho({ close, then }: { close: () => void; then?: (name: string) => void }) {
  const who = useWho();
  const take = (name: string) => {
    keepWho(name);
    then?.(name);
  };
  return <AskName title={t.whoTitle} hint={t.whoText} label={t.who} button={t.save} initial={who} close={close} take={take} />;
}

export function Who() {
  const who = useWho();
  const [asking, setAsking] = useState(false);
  const known = nameOf(useSession()) !== undefined;
  if (known) return null;
  return (
    <>
      <button type="button" className="button quiet small task-who" onClick={() => setAsking(true)} title={t.whoText}>
        <UserRound size={14} aria-hidden="true" />
        <span className="clip">{who === "" ? t.whoSet : who}</span>
      </button>
      {asking ? <AskWho close={() => setAsking(false)} /> : null}
    </>
  );
}
