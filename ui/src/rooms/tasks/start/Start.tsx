// Starts a process as people do: by its form where it has one, with variables, files among them.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import type { InstanceKey } from "../../../api/keys";
import { type Definition, latest, startForm } from "../../../api/processes";
import { rightsOn } from "../../../api/rights";
import { MayButton, tellLack, useLack } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Shown, Skeleton } from "../../../parts/Shown";
import { text } from "../../../text";
import { Values } from "../Values";
import { useStart } from "./useStart";

const FormView = lazy(() => import("../FormView"));
const route = getRouteApi("/tasks");
const t = text.tasks;
const ANY = "any";
const EMPTY = {};

export function Start({ of }: { of: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const known = useQuery(latest());
  const found = known.data?.items.find((each) => each.processDefinitionId === of);
  // What somebody fills in stays what it is when another version is deployed meanwhile.
  const [held, hold] = useState(found);
  if (found !== undefined && (held?.processDefinitionId !== of || held.tenantId !== found.tenantId)) hold(found);
  const chosen = found && held;
  const choose = (process: string) => void navigate({ search: { ...search, start: process }, replace: true });
  const [round, again] = useState(0);
  return (
    <section className="task" aria-label={t.startTitle}>
      <header className="task-head">
        <Link to="/tasks" search={{ ...search, start: undefined }} className="start-back row">
          <ChevronLeft size={14} aria-hidden="true" />
          {t.startClose}
        </Link>
        <h2 className="task-title">{t.startTitle}</h2>
        <Shown query={known} rows={1}>
          {({ items }) => (items.length === 0 ? <Note title={t.startNone} small /> : <Pick items={items} chosen={chosen?.processDefinitionId ?? ""} choose={choose} />)}
        </Shown>
      </header>
      <div className="start-body">
        {chosen && chosen.processDefinitionKey !== found.processDefinitionKey ? <Newer of={chosen.version} is={found.version} take={() => hold(found)} /> : null}
        {chosen ? <Desk key={`${chosen.processDefinitionKey} ${round}`} definition={chosen} again={() => again(round + 1)} /> : known.data && of !== ANY ? <Note title={t.startGone} small>{of}</Note> : null}
      </div>
    </section>
  );
}

function Newer({ of, is, take }: { of: number; is: number; take: () => void }) {
  const button = (
    <button type="button" className="button small" onClick={take}>
      {t.startNewer}
    </button>
  );
  return (
    <div role="status" className="meanwhile">
      <Note title={t.startNewerTitle(is)} actions={button} small>
        {t.startNewerText(of)}
      </Note>
    </div>
  );
}

function Pick({ items, chosen, choose }: { items: readonly Definition[]; chosen: string; choose: (process: string) => void }) {
  const groups = [
    [t.startWithForm, items.filter((each) => each.hasStartForm)],
    [t.startWithout, items.filter((each) => !each.hasStartForm)],
  ] as const;
  return (
    <label>
      <span className="label">{t.startWhich}</span>
      <select className="field start-pick" value={chosen} onChange={(event) => choose(event.target.value || ANY)}>
        <option value="">{t.startChoose}</option>
        {groups.filter(([, of]) => of.length > 0).map(([name, of]) => (
          <optgroup key={name} label={name}>
            {of.map((each) => (
              <option key={each.processDefinitionId} value={each.processDefinitionId}>
                {each.name ?? each.processDefinitionId}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

function Desk({ definition, again }: { definition: Definition; again: () => void }) {
  const form = useQuery(startForm(definition.processDefinitionKey));
  return (
    <Shown query={form} rows={4}>
      {(found) => <Fill definition={definition} schema={found?.schema} again={again} />}
    </Shown>
  );
}

function Fill({ definition, schema, again }: { definition: Definition; schema: string | undefined; again: () => void }) {
  const { begin, canBegin, busy, wrong, ready, written, write, made, forget } = useStart(definition, schema);
  const needs = rightsOn(definition.processDefinitionId).start;
  const lack = useLack(needs);
  if (made !== undefined) return <Begun of={made} again={again} />;
  return (
    <div className="desk">
      {schema === undefined ? (
        <Note title={t.startNoForm} small>
          {t.startNoFormText}
        </Note>
      ) : (
        <Suspense fallback={<Skeleton rows={4} />}>
          <FormView schema={schema} values={EMPTY} draft={undefined} readOnly={false} ready={ready} touched={forget} submit={() => (lack === undefined ? void begin() : tellLack(lack))} />
        </Suspense>
      )}
      <Values variables={[]} written={written} readOnly={false} change={write} open={schema === undefined} />
      {wrong === undefined ? null : (
        <p className="bad" role="alert">
          {wrong}
        </p>
      )}
      <footer className="desk-foot">
        <MayButton needs={needs} className="button main" disabled={busy || !canBegin} onClick={() => void begin()}>
          {t.startGo}
        </MayButton>
      </footer>
    </div>
  );
}

function Begun({ of: { name, key }, again }: { of: { name: string; key: InstanceKey }; again: () => void }) {
  return (
    <Note
      title={t.started(name)}
      actions={
        <>
          <Link to="/processes/i/$key" params={{ key }} className="button small">
            {t.startedOpen}
          </Link>
          <button type="button" className="button small quiet" onClick={again}>
            {t.startAgain}
          </button>
        </>
      }
    >
      <span className="mono">{key}</span>
    </Note>
  );
}
