// The saved views: each can be opened, shared and deleted, and what is on the screen can be saved as another one.
import { useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Entry, isConflict, isKeptByServer } from "../../api/kept";
import { text } from "../../text";
import { announce } from "../announce";
import { Conflict } from "../Conflict";
import { failed } from "../failed";
import { Note } from "../Note";
import { ShareButton } from "../ShareButton";
import { Shown } from "../Shown";
import type { ViewsProps } from "./Views";
import { drop, isOthers, leftBehind, save, searchOf, share, take, views } from "./views";

const t = text.kept;

/** Runs one change at a time; what was changed elsewhere is said as that. */
function useChanges() {
  const [busy, setBusy] = useState(false);
  const change = async (title: string, what: () => Promise<void>, conflict: () => void = () => announce("failed", t.conflict, t.conflictText(title))) => {
    setBusy(true);
    try {
      await what();
      return true;
    } catch (error) {
      if (isConflict(error)) conflict();
      else failed(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, change };
}

type Changes = ReturnType<typeof useChanges>;

export default function Saved({ room, search, open, close }: ViewsProps & { close: () => void }) {
  const found = useQuery(views(room));
  const left = useQuery(leftBehind(room)).data ?? [];
  const changes = useChanges();
  const choose = async (entry: Entry) => {
    const done = await changes.change(entry.title, async () => open(await searchOf(entry)));
    if (done) close();
  };
  return (
    <>
      <Shown query={found} rows={2}>
        {(all) => (
          <>
            {all.length === 0 ? (
              <Note title={t.none} small>
                {t.noneText}
              </Note>
            ) : (
              <ul className="views-list">
                {all.map((each) => (
                  <One key={`${each.owner} ${each.name}`} entry={each} changes={changes} choose={() => void choose(each)} />
                ))}
              </ul>
            )}
            <Save all={all} changes={changes} save={(title, before) => save(room, title, search, before)} />
          </>
        )}
      </Shown>
      {left.length === 0 ? null : (
        <button type="button" className="button small" disabled={changes.busy} onClick={() => void changes.change("", () => take(left)).then((done) => done && announce("done", t.taken(left.length)))}>
          {t.take}
        </button>
      )}
      {isKeptByServer() ? null : <p className="faint views-where">{t.inBrowser}</p>}
    </>
  );
}

function One({ entry, changes: { busy, change }, choose }: { entry: Entry; changes: Changes; choose: () => void }) {
  const { title, shared } = entry;
  const others = isOthers(entry);
  return (
    <li>
      <button type="button" className="views-open grow" disabled={busy} onClick={choose}>
        <span className="clip">{title}</span>
        {others ? <span className="faint clip">{t.by(entry.owner)}</span> : null}
      </button>
      {others ? null : (
        <>
          {isKeptByServer() ? <ShareButton title={title} shared={shared} busy={busy} share={() => void change(title, () => share(entry, !shared))} /> : null}
          <button type="button" className="button quiet icon small" aria-label={t.drop(title)} title={t.drop(title)} disabled={busy} onClick={() => void change(title, () => drop(entry))}>
            <Trash2 size={14} aria-hidden="true" />
          </button>
        </>
      )}
    </li>
  );
}

/** A name that is there already is that of the view which is replaced. */
function Save({ all, changes: { busy, change }, save }: { all: readonly Entry[]; changes: Changes; save: (title: string, before: Entry | undefined) => Promise<void> }) {
  const [written, write] = useState("");
  const title = written.trim();
  const before = all.find((each) => each.title === title && !isOthers(each));
  /** The title that somebody else has changed meanwhile. */
  const [conflict, setConflict] = useState<string>();
  const keep = async (title: string, before: Entry | undefined) => {
    setConflict(undefined);
    const done = await change(title, () => save(title, before), () => setConflict(title));
    if (!done) return;
    write("");
    announce("done", t.done(title));
  };
  const go = (event: FormEvent) => {
    event.preventDefault();
    if (title !== "") void keep(title, before);
  };
  if (conflict !== undefined) {
    return <Conflict title={conflict} copy={() => void keep(t.copyOf(conflict), undefined)} theirs={() => setConflict(undefined)} />;
  }
  return (
    <form className="views-save" onSubmit={go}>
      <input className="field grow" aria-label={t.name} placeholder={t.name} maxLength={100} value={written} onChange={(event) => write(event.target.value)} />
      <button type="submit" className="button main" disabled={busy || title === ""}>
        {before ? t.replace : t.save}
      </button>
    </form>
  );
}
