// What happened, as a tree with a bar of time for each: what is within a scope is fetched when it is opened.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { type ElementInstance, type Instance, called, within } from "../../api/instances";
import type { ScopeKey } from "../../api/keys";
import { Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { Skeleton } from "../../parts/Shown";
import { Failure } from "../../parts/Note";
import { State } from "../../parts/State";
import { text } from "../../text";
import { between, exact } from "../../text/format";
import { useZone } from "../../text/zone";
import { useScope } from "./scope";

const t = text.instance;
const PAGE = 100;
const SCOPES = new Set([
  "SUB_PROCESS", "EVENT_SUB_PROCESS", "MULTI_INSTANCE_BODY", "AD_HOC_SUB_PROCESS", "AD_HOC_SUB_PROCESS_INNER_INSTANCE",
]);

/** Arrows go from row to row, also into and out of what is open. */
function walk(event: KeyboardEvent<HTMLElement>) {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (next === undefined || at === -1) return;
  event.preventDefault();
  rows[Math.min(rows.length - 1, Math.max(0, next))]?.focus();
}

export function History({ instance }: { instance: Instance }) {
  const { key, chooseScope } = useScope();
  const times: Times = { from: new Date(instance.startDate).getTime(), to: instance.endDate ? new Date(instance.endDate).getTime() : undefined };
  const whole = key === instance.processInstanceKey;
  return (
    <section className="history" aria-label={t.history}>
      <h2 className="part-title">{t.history}</h2>
      <div className="tree" role="tree" tabIndex={-1} aria-label={t.history} onKeyDown={walk}>
        <Item level={1} selected={whole} focusable={whole} onSelect={() => chooseScope(undefined)} state={instance.hasIncident ? "INCIDENT" : instance.state} name={instance.processDefinitionName ?? instance.processDefinitionId} times={times} from={instance.startDate} to={instance.endDate} />
        <Level scope={instance.processInstanceKey} level={2} times={times} atWork={instance.state === "ACTIVE"} />
      </div>
    </section>
  );
}

interface Times {
  from: number;
  to: number | undefined;
}

function Level({ scope, level, times, atWork }: { scope: ScopeKey; level: number; times: Times; atWork: boolean }) {
  const [limit, setLimit] = useState(PAGE);
  const query = useQuery({ ...within(scope, limit, atWork), placeholderData: (before) => before });
  if (query.error && !query.data) return <Failure problem={query.error} retry={() => void query.refetch()} small />;
  if (!query.data) return <Skeleton rows={2} />;
  const { items, page } = query.data;
  if (items.length === 0 && level === 2) return <Note title={t.historyGone} small />;
  return (
    <>
      {items.map((each) => (
        <Branch key={each.elementInstanceKey} element={each} level={level} times={times} atWork={atWork} />
      ))}
      {page.totalItems > items.length ? (
        <button type="button" className="button small quiet tree-more" onClick={() => setLimit(Math.min(10_000, limit + 5 * PAGE))}>
          {t.moreWithin}
        </button>
      ) : null}
    </>
  );
}

function Branch({ element, level, times, atWork }: { element: ElementInstance; level: number; times: Times; atWork: boolean }) {
  const { key, chooseScope } = useScope();
  const opens = SCOPES.has(element.type);
  const [open, setOpen] = useState(opens && (level < 4 || element.hasIncident));
  const mine = key === element.elementInstanceKey;
  return (
    <>
      <Item
        level={level}
        selected={mine}
        focusable={mine}
        open={opens ? open : undefined}
        setOpen={setOpen}
        onSelect={() => chooseScope(element.elementInstanceKey)}
        state={element.hasIncident ? "INCIDENT" : element.state}
        name={element.elementName ?? element.elementId}
        kind={element.type}
        times={times}
        from={element.startDate}
        to={element.endDate}
      >
        {element.type === "CALL_ACTIVITY" ? <Called element={element} /> : null}
      </Item>
      {opens && open ? <Level scope={element.elementInstanceKey} level={level + 1} times={times} atWork={atWork} /> : null}
    </>
  );
}

function Called({ element }: { element: ElementInstance }) {
  const found = useQuery(called(element.elementInstanceKey)).data?.items[0];
  if (!found) return null;
  return (
    <Link to="/processes/i/$key" params={{ key: found.processInstanceKey }} className="tree-called" onClick={(event) => event.stopPropagation()}>
      {t.openCalled}
    </Link>
  );
}

interface ItemProps {
  level: number;
  selected: boolean;
  focusable: boolean;
  open?: boolean;
  setOpen?: (open: boolean) => void;
  onSelect: () => void;
  state: string;
  name: string;
  kind?: string;
  times: Times;
  from: string;
  to: string | null | undefined;
  children?: ReactNode;
}

function Item({ level, selected, focusable, open, setOpen, onSelect, state, name, kind, times, from, to, children }: ItemProps) {
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") onSelect();
    else if (event.key === "ArrowRight" && open === false) setOpen?.(true);
    else if (event.key === "ArrowLeft" && open === true) setOpen?.(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div role="treeitem" aria-level={level} aria-selected={selected} aria-expanded={open} tabIndex={focusable ? 0 : -1} className="tree-row" onClick={onSelect} onKeyDown={press}>
      <span className="tree-name" style={{ paddingLeft: (level - 1) * 16 }}>
        <span className={`tree-open${open === undefined ? "" : open ? " open" : " closed"}`} onClick={(event) => { event.stopPropagation(); setOpen?.(!open); }} aria-hidden="true">
          {open === undefined ? null : <ChevronRight size={14} />}
        </span>
        <State name={state} bare />
        <span className="clip" title={name}>{name}</span>
        {kind ? <span className="tree-kind faint clip">{text.words.kind(kind)}</span> : null}
        {children}
      </span>
      <Bar times={times} from={from} to={to} />
    </div>
  );
}

/** When it happened within the life of the whole. */
function Bar({ times, from, to }: { times: Times; from: string; to: string | null | undefined }) {
  const now = useNow(times.to === undefined ? 1_000 : 3_600_000);
  useZone();
  const end = times.to ?? Math.max(now, times.from + 1);
  const whole = Math.max(1, end - times.from);
  const start = (100 * (new Date(from).getTime() - times.from)) / whole;
  const stop = (100 * ((to ? new Date(to).getTime() : end) - times.from)) / whole;
  const took = between(from, to, now);
  return (
    <span className="tree-time" title={`${exact(from)} – ${to ? exact(to) : "…"}`}>
      <svg className="tree-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect className={to ? "bar-over" : "bar-now"} x={Math.min(start, 99)} width={Math.max(1, stop - start)} y="1" height="6" rx="0.5" />
      </svg>
      <span className="figure tree-took faint">{took}</span>
    </span>
  );
}
