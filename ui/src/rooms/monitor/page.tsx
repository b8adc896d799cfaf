// Monitor: what happened lately and how fast: what nodes measure within the hour, and what searches count of an hour or a day.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Check, ExternalLink, TriangleAlert } from "lucide-react";
import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { grafana } from "../../api/base";
import { behind } from "../../api/client";
import { type Over, SPANS, type Span, slotsOf, takesWork, useInstancesOver, useJobsOver } from "../../api/monitor";
import { useTenancy } from "../../api/tenant";
import { summaries } from "../../api/timing";
import { Figure } from "../../parts/Figure";
import { Failure, Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { PageTitle } from "../../parts/PageTitle";
import { Panel } from "../../parts/Panel";
import { Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import { number } from "../../text/format";
import { Answers } from "./Answers";
import { Bars } from "./Bars";
import { Live } from "./live/Live";
import { Types } from "./Types";
import "./monitor.css";

const route = getRouteApi("/monitor");
const t = text.monitor;
const CHOICES = Object.keys(SPANS) as Span[];

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

export function Monitor() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const span = CHOICES.find((each) => each === search.span) ?? "hour";
  const now = useNow(SPANS[span].step);
  const slots = useMemo(() => slotsOf(span, now), [span, now]);
  const jobs = useJobsOver(slots);
  const instances = useInstancesOver(slots);
  // Drawn again with what comes every few seconds.
  useNow(5_000);
  const answers = summaries();
  const ofAll = useTenancy()?.chosen === undefined ? t.jobsText : text.tenants.ofAll;
  const started = instances.data?.map((each) => each.started) ?? [];
  const ended = instances.data?.map((each) => each.ended) ?? [];
  return (
    <>
      <PageTitle title={t.title} />
      <div className="monitor-head">
        <select className="field" aria-label={t.span} value={span} onChange={(event) => void navigate({ search: { span: event.target.value === "hour" ? undefined : event.target.value }, replace: true })}>
          {CHOICES.map((each) => (
            <option key={each} value={each}>
              {t.spans[each]}
            </option>
          ))}
        </select>
        <Work />
        {grafana === undefined ? null : (
          <a className="button monitor-grafana" href={grafana} target="_blank" rel="noopener noreferrer" title={t.grafanaHint}>
            <ExternalLink size={14} aria-hidden="true" />
            {t.grafana}
          </a>
        )}
      </div>
      <div className="figures">
        <Done jobs={jobs} span={span} />
        <Lag isOff={jobs.error?.isStorageOff === true} />
        <Figure name={t.answers} value={answers.all.count === 0 ? undefined : t.ms(answers.all.p95)} hint={t.answersHint} />
      </div>
      {span === "hour" ? <Live /> : null}
      <div className="monitor-charts">
        <Panel title={t.jobs} aside={ofAll}>
          <Drawn over={jobs} none={t.noneJobs} isNone={(data) => sum(data.map(({ created, completed, failed }) => created + completed + failed)) === 0}>
            {(data) => (
              <Bars
                label={t.jobs}
                slots={slots}
                series={[
                  { name: t.series.created, tone: "ended", values: data.map(({ created }) => created) },
                  { name: t.series.completed, tone: "active", values: data.map(({ completed }) => completed) },
                  { name: t.series.failed, tone: "incident", values: data.map(({ failed }) => failed) },
                ]}
              />
            )}
          </Drawn>
        </Panel>
        <Panel title={t.instances} aside={instances.data?.some(({ more }) => more) ? t.instancesMore : undefined}>
          <Drawn over={instances} none={t.noneInstances} isNone={() => sum(started) + sum(ended) === 0}>
            {() => (
              <Bars
                label={t.instances}
                slots={slots}
                series={[
                  { name: t.series.started, tone: "ended", values: started },
                  { name: t.series.ended, tone: "active", values: ended },
                ]}
              />
            )}
          </Drawn>
        </Panel>
        <Types slots={slots} />
        <Answers each={answers.each} />
      </div>
      <p className="monitor-text faint">{t.elsewhere}</p>
    </>
  );
}

interface DrawnProps<T> {
  over: Over<T>;
  none: string;
  isNone: (data: readonly T[]) => boolean;
  children: (data: readonly T[]) => ReactNode;
}

function Drawn<T>({ over: { data, error, retry }, none, isNone, children }: DrawnProps<T>) {
  if (data === undefined) return error ? <Failure problem={error} retry={retry} small /> : <Skeleton rows={5} />;
  return (
    <>
      {error ? <Failure problem={error} retry={retry} small /> : null}
      {isNone(data) ? <Note title={none} small /> : children(data)}
    </>
  );
}

function Done({ jobs: { data }, span }: { jobs: ReturnType<typeof useJobsOver>; span: Span }) {
  const completed = data && sum(data.map((each) => each.completed));
  const failed = data && sum(data.map((each) => each.failed));
  const ended = (completed ?? 0) + (failed ?? 0);
  const share = `${((100 * (failed ?? 0)) / Math.max(1, ended)).toFixed(ended > 1_000 ? 1 : 0)} %`;
  return (
    <>
      <Figure name={t.done} value={completed === undefined ? undefined : number(completed)} hint={t.doneHint[span]} />
      <Figure name={t.failed} value={failed === undefined ? undefined : number(failed)} hint={failed === 0 ? t.failedNone : t.failedHint(share)} tone={failed ? "incident" : undefined} />
    </>
  );
}

function Lag({ isOff }: { isOff: boolean }) {
  const ms = useSyncExternalStore(behind.listen, behind.now);
  if (isOff) return <Figure name={t.lag} value={undefined} hint="" />;
  return <Figure name={t.lag} value={ms === 0 ? t.lagNone : t.ms(ms)} hint={ms === 0 ? t.lagHint : t.lagBad} tone={ms > 10_000 ? "incident" : undefined} />;
}

/** Whether anything goes on at all. */
function Work() {
  const { data, error } = useQuery(takesWork());
  if (error?.status === 503) {
    return (
      <span className="bad row" role="alert">
        <TriangleAlert size={16} aria-hidden="true" />
        {t.noWork}
      </span>
    );
  }
  return data === true ? (
    <span className="monitor-well muted row">
      <Check size={16} aria-hidden="true" />
      {t.takesWork}
    </span>
  ) : null;
}
