// One draft: drawn, kept and checked while it is drawn, deployed, and started. What the server refuses is shown where it is wrong.
import { Link, getRouteApi } from "@tanstack/react-router";
import { Download, GitCompare, Play, Redo2, Rocket, TriangleAlert, Undo2 } from "lucide-react";
import { type ReactNode, Suspense, lazy, useEffect, useMemo, useRef, useState } from "react";
import { type Deployment, check, deploy } from "../../api/commands";
import { isKeptByServer } from "../../api/kept";
import { Problem } from "../../api/problem";
import { RIGHTS } from "../../api/rights";
import { Conflict } from "../../parts/Conflict";
import { failed } from "../../parts/failed";
import { MayButton } from "../../parts/MayButton";
import { Failure, Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { TenantField, useTenantChoice } from "../../parts/tenant";
import { Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import { Compare, useCompared } from "./compare/Compare";
import { draft, keep } from "./drafts";
import type { Editor } from "./editor";
import { type Finding, findingsOf, verdict } from "./findings";
import { type Kind, kindOf, nameOf, processOf } from "./kinds";
import { Outcome } from "./Outcome";
import { Run } from "./run/Run";
import { keyOf, useWatched } from "./run/watched";
import type { Sent } from "./sending";
import { useCheck } from "./useCheck";
import { useModel } from "./useModel";
import "./studio.css";

const boards = { bpmn: lazy(() => import("./Board")), dmn: lazy(() => import("./DmnBoard")), form: lazy(() => import("./FormBoard")) } as const;
const types: Record<Kind, string> = { bpmn: "text/xml", dmn: "text/xml", form: "application/json" };
const route = getRouteApi("/studio/$draft");
const t = text.studio;
const NONE: readonly Finding[] = [];

export function Draft() {
  const { draft: id } = route.useParams();
  return isKeptByServer() ? <OfServer key={id} id={id} /> : <OfBrowser key={id} id={id} />;
}

function OfBrowser({ id }: { id: string }) {
  const [found] = useState(() => draft(id));
  const [kept, setKept] = useState(true);
  if (!found) return <Gone />;
  return <Drawn id={id} source={found.xml} status={kept ? { text: t.kept } : { text: t.notKept, bad: true }} keep={(xml) => setKept(keep(id, xml))} />;
}

function OfServer({ id }: { id: string }) {
  const { model, sent, change, copy, theirs } = useModel(id);
  if (model === undefined) return <Skeleton rows={8} />;
  if (model instanceof Problem) return model.isGone ? <Gone /> : <Failure problem={model} retry={theirs} />;
  const asked = sent.kind === "conflict" ? <Conflict title={nameOf(model.xml) || id} copy={copy} theirs={theirs} /> : undefined;
  return <Drawn key={model.round} id={id} source={model.xml} status={statusOf(sent)} keep={change} asked={asked} />;
}

interface Status {
  text: string;
  bad?: boolean;
}

const statusOf = (sent: Sent): Status => {
  if (sent.kind === "failed") return { text: t.notSent(sent.problem.isPassing ? text.words.failure.NO_ANSWER : sent.problem.detail), bad: true };
  return sent.kind === "conflict" ? { text: text.kept.conflict, bad: true } : { text: sent.kind === "sent" ? t.sent : t.sending };
};

const Gone = () => (
  <>
    <PageTitle title={t.title} />
    <Note title={t.gone} actions={<Link to="/studio" className="button small">{t.drafts}</Link>}>
      {isKeptByServer() ? t.goneServer : t.goneText}
    </Note>
  </>
);

function save(name: string, content: string, type: string) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface DrawnProps {
  id: string;
  source: string;
  /** Where it is kept, or why it is not. */
  status: Status;
  keep: (xml: string) => void;
  /** What somebody has to decide before it is kept again. */
  asked?: ReactNode;
}

function Drawn({ id, source, status, keep, asked }: DrawnProps) {
  const [xml, setXml] = useState(source);
  const [editor, setEditor] = useState<Editor>();
  /** The list of findings is open: somebody wanted to see it, or to deploy. */
  const [listed, list] = useState(false);
  const [shown, show] = useState<string>();
  const [outcome, setOutcome] = useState<Deployment>();
  const [busy, setBusy] = useState(false);
  const choice = useTenantChoice();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const watched = keyOf(search.run);
  const { marks, taken } = useWatched(watched);
  const run = (key: string | undefined, process = search.process) => void navigate({ search: { run: key, process: key === undefined ? undefined : process } });
  const kind = kindOf(source);
  const name = nameOf(xml) || id;
  const file = `${name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")}.${kind}`;
  const Board = boards[kind];
  const comparing = search.compare !== undefined && kind === "bpmn";
  const compared = useCompared(processOf(xml), xml, comparing);
  const compare = () => void navigate({ search: comparing ? {} : { compare: "1" } });
  const latest = useMemo(() => new File([xml], file, { type: types[kind] }), [xml, file, kind]);
  const latestFile = useRef(latest);
  useEffect(() => {
    latestFile.current = latest;
  });
  const [checked, tell] = useCheck(editor && choice.ready ? latest : undefined, choice.tenant);
  const findings = useMemo(() => (checked === undefined ? NONE : findingsOf(checked)), [checked]);
  const changed = (next: string) => {
    setXml(next);
    keep(next);
    setOutcome(undefined);
  };
  const send = async () => {
    setBusy(true);
    setOutcome(undefined);
    const files = [latestFile.current];
    try {
      setOutcome(await deploy(files, choice.tenant));
      tell(undefined);
      list(false);
    } catch (error) {
      const why = error instanceof Problem && error.status === 400 ? await check(files, choice.tenant).catch(() => undefined) : undefined;
      if (why === undefined || why.deployable) failed(error);
      else {
        tell(why);
        list(true);
      }
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={`studio${search.run === undefined ? "" : " runs"}`}>
      <PageTitle title={name} />
      <div className="studio-bar" role="toolbar" aria-label={t.tools}>
        <Link to="/studio" className="button quiet">
          {t.drafts}
        </Link>
        <span className={status.bad ? "bad" : "faint"} role="status">
          {status.text}
        </span>
        {checked === undefined || outcome !== undefined ? null : checked.deployable ? (
          <span className="faint" role="status">
            {verdict(checked)}
          </span>
        ) : (
          <button type="button" className="button small verdict" aria-expanded={listed} onClick={() => list(!listed)}>
            <TriangleAlert size={14} aria-hidden="true" />
            {verdict(checked)}
          </button>
        )}
        <span className="grow" />
        <span className="row">
          <button type="button" className="button icon" aria-label={t.undo} title={t.undo} disabled={!editor} onClick={() => editor?.undo()}>
            <Undo2 size={14} aria-hidden="true" />
          </button>
          <button type="button" className="button icon" aria-label={t.redo} title={t.redo} disabled={!editor} onClick={() => editor?.redo()}>
            <Redo2 size={14} aria-hidden="true" />
          </button>
        </span>
        <button type="button" className="button" onClick={() => save(file, xml, types[kind])}>
          <Download size={14} aria-hidden="true" />
          {t.save}
        </button>
        {kind !== "bpmn" ? null : (
          <>
            <button type="button" className="button" aria-expanded={comparing} disabled={!editor} onClick={compare}>
              <GitCompare size={14} aria-hidden="true" />
              {t.compare.open}
            </button>
            <button type="button" className="button" aria-expanded={search.run !== undefined} disabled={!editor} onClick={() => run(search.run === undefined ? "start" : undefined)}>
              <Play size={14} aria-hidden="true" />
              {t.run.open}
            </button>
          </>
        )}
        <TenantField choice={choice} bare />
        <MayButton needs={RIGHTS.deploy} className="button main" disabled={busy || !editor || !choice.ready} onClick={() => void send()}>
          <Rocket size={14} aria-hidden="true" />
          {t.deploy}
        </MayButton>
      </div>
      {asked}
      {outcome ? <Outcome deployment={outcome} run={(process) => run("start", process)} /> : null}
      {listed && findings.length > 0 ? (
        <section className="findings" role="alert" aria-label={t.findings(findings.length)}>
          <h2>{t.findings(findings.length)}</h2>
          <ul>
            {findings.map((each) => (
              <li key={`${each.element} ${each.code} ${each.message}`}>
                {each.element === undefined ? null : (
                  <button type="button" className="button small" onClick={() => show(each.element)}>
                    {each.element}
                  </button>
                )}
                <span>{each.message}</span>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      <Suspense fallback={<Skeleton rows={8} />}>
        <Board source={source} findings={findings} shown={shown} marks={marks} taken={taken} changes={compared.changes} changed={changed} ready={setEditor} />
      </Suspense>
      {comparing ? <Compare compared={compared} process={processOf(xml)} close={compare} select={(element) => editor?.select(element)} /> : null}
      {search.run === undefined || kind !== "bpmn" ? null : (
        <Run watched={watched} process={search.process ?? processOf(xml)} watch={(key) => run(key ?? "start")} close={() => run(undefined)} select={(element) => editor?.select(element)} />
      )}
    </div>
  );
}
