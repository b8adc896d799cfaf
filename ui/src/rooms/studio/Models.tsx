// The models that the server keeps for somebody, and those that only this browser has so far.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { type Entry, isConflict, server } from "../../api/kept";
import { queries } from "../../api/live";
import type { Problem } from "../../api/problem";
import { nameOf as userOf, sessionNow } from "../../api/session";
import { router } from "../../app/router";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";
import { Note } from "../../parts/Note";
import { ShareButton } from "../../parts/ShareButton";
import { Shown } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { drafts, drop } from "./drafts";
import { kindOf, nameOf } from "./kinds";
import { settled } from "./sending";
import { allUnsent, dropUnsent, keepUnsent, unsent } from "./unsent";

const t = text.studio;
const KEY = ["kept", "models"] as const;
const models = () => queryOptions<readonly Entry[], Problem>({ queryKey: [...KEY, userOf(sessionNow()) ?? ""], queryFn: () => server.list("models"), staleTime: 0 });

interface Row {
  id: string;
  title: string;
  kind: string;
  /** Milliseconds. */
  saved: number;
  /** Somebody else who shares it. */
  owner?: string;
  /** Where the server has none of it: takes it out of this browser. */
  forget?: () => void;
  /** Of the server. */
  revision?: string;
  shared?: boolean;
}

/** Kinds stand in the names that this page gives. */
const kindIn = (name: string): string => t.kinds[(["bpmn", "dmn", "form"] as const).find((kind) => name.startsWith(`${kind}-`)) ?? "bpmn"];

function rowsOf(kept: readonly Entry[]): Row[] {
  const me = userOf(sessionNow());
  const there = kept.map(({ name, title, changed, owner, revision, shared }): Row => ({ id: name, title, kind: kindIn(name), saved: Date.parse(changed), owner: owner === me ? undefined : owner, revision, shared }));
  const own = new Set(there.flatMap((row) => (row.owner === undefined ? [row.id] : [])));
  const alone = (forget: (id: string) => void) => ({ id, xml, saved }: { id: string; xml: string; saved: number }): Row[] =>
    own.has(id) ? [] : [{ id, title: nameOf(xml), kind: t.kinds[kindOf(xml)], saved, forget: () => forget(id) }];
  return [...allUnsent().flatMap(alone(dropUnsent)), ...drafts().flatMap(alone(drop)), ...there].toSorted((a, b) => b.saved - a.saved);
}

export function Models({ begin }: { begin: (source: string) => void }) {
  const found = useQuery(models());
  const [, look] = useState(0);
  const again = () => {
    look((before) => before + 1);
    return queries.invalidateQueries({ queryKey: KEY });
  };
  const open = (row: Row) => {
    // What belongs to somebody else is drawn on as a model of one's own.
    if (row.owner !== undefined) void server.get("models", row.id, row.owner).then(({ body }) => begin(String(body.xml ?? "")), failed);
    else void router.navigate({ to: "/studio/$draft", params: { draft: row.id } });
  };
  const [busy, setBusy] = useState<string>();
  const change = async (row: Row, what: () => Promise<void>) => {
    setBusy(row.id);
    try {
      await what();
    } catch (error) {
      if (isConflict(error)) announce("failed", text.kept.conflict, text.kept.conflictText(row.title));
      else failed(error);
    } finally {
      await again();
      setBusy(undefined);
    }
  };
  return (
    <Shown query={found} rows={2}>
      {(kept) => {
        const rows = rowsOf(kept);
        if (rows.length === 0) {
          return (
            <Note title={t.draftsNoneServer} small>
              {t.draftsNoneServerText}
            </Note>
          );
        }
        return (
          <>
            <ul className="studio-list">
              {rows.map((row) => (
                <One key={`${row.owner ?? ""} ${row.id}`} row={row} busy={busy === row.id} open={() => open(row)} share={() => void change(row, () => share(row))} remove={() => void change(row, () => remove(row))} />
              ))}
            </ul>
            <Take again={again} />
          </>
        );
      }}
    </Shown>
  );
}

/** What is drawn and not sent yet goes on from the revision that sharing makes. */
async function share({ id, title, revision, shared = false }: Row) {
  if (revision === undefined) return;
  await settled(id);
  const { body } = await server.get("models", id);
  const next = await server.put("models", id, { title, shared: !shared, body }, revision);
  const mine = unsent(id);
  if (mine?.revision === revision) keepUnsent(id, mine.xml, next, !shared);
}

async function remove({ id, revision, forget }: Row) {
  forget?.();
  if (revision !== undefined) await server.drop("models", id, revision);
}

interface OneProps {
  row: Row;
  busy: boolean;
  open: () => void;
  share: () => void;
  remove: () => void;
}

function One({ row, busy, open, share, remove }: OneProps) {
  const title = row.title || row.id;
  return (
    <li>
      <button type="button" className="words-button grow" onClick={open}>
        <span className="clip">{title}</span>
      </button>
      {row.forget ? <span className="faint">{t.onlyHere}</span> : null}
      {row.owner === undefined ? null : <span className="faint clip">{text.kept.by(row.owner)}</span>}
      <span className="faint">{row.kind}</span>
      <span className="faint">
        <Time at={new Date(row.saved).toISOString()} />
      </span>
      {row.owner === undefined && row.revision !== undefined ? <ShareButton title={title} shared={row.shared === true} busy={busy} share={share} /> : null}
      {row.owner === undefined ? (
        <button type="button" className="button quiet icon small" aria-label={t.drop(title)} title={t.drop(title)} disabled={busy} onClick={remove}>
          <Trash2 size={14} aria-hidden="true" />
        </button>
      ) : null}
    </li>
  );
}

/** Drafts from before the login go to the server when somebody says so; each leaves the browser once the server has it. */
function Take({ again }: { again: () => Promise<void> }) {
  const [busy, setBusy] = useState(false);
  const before = drafts();
  if (before.length === 0) return null;
  const take = async () => {
    setBusy(true);
    try {
      for (const { id, xml } of before) {
        await server.put("models", `${kindOf(xml)}-${id}`, { title: (nameOf(xml) || id).slice(0, 200), shared: false, body: { xml } }, null);
        drop(id);
      }
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
      await again();
    }
  };
  return (
    <button type="button" className="button small studio-take" disabled={busy} onClick={() => void take()}>
      {t.take(before.length)}
    </button>
  );
}
