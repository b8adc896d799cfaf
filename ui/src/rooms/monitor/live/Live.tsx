// What the nodes measure: throughput, latency by stage, refusals with their causes, partitions, exporters and disks.
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, HardDrive, Unplug } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { type Measured, measured } from "../../../api/measured";
import { Note } from "../../../parts/Note";
import { Panel } from "../../../parts/Panel";
import { Failure } from "../../../parts/Note";
import { Skeleton } from "../../../parts/Shown";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { type Line, STAGES, byNode, byPartition, lags, largest, newest, stage, summed, total } from "./lines";
import { Plot } from "./Plot";
import { bytes, count, ms, rate } from "./units";

const t = text.monitor;

export function Live() {
  const { data, error, refetch } = useQuery(measured());
  if (data === undefined) {
    return (
      <Panel title={t.measured} className="monitor-live-none">
        {error ? <Failure problem={error} retry={() => void refetch()} small /> : <Skeleton rows={5} />}
      </Panel>
    );
  }
  return (
    <>
      {error ? <Failure problem={error} retry={() => void refetch()} small /> : null}
      {data.missing.length > 0 ? (
        <Note tone="incident" icon={<Unplug size={20} strokeWidth={1.75} />} title={t.missing(data.missing)} small>
          {t.missingText}
        </Note>
      ) : null}
      {data.times.length < 2 ? (
        <Panel title={t.measured} className="monitor-live-none">
          <Note title={t.begins} small>
            {t.beginsText}
          </Note>
        </Panel>
      ) : (
        <Panels data={data} />
      )}
    </>
  );
}

interface PartProps {
  data: Measured;
}

function Panels({ data }: PartProps) {
  return (
    <div className="monitor-charts monitor-live">
      <Throughput data={data} />
      <Latency data={data} />
      <Refusals data={data} />
      <Partitions data={data} />
      <Lag data={data} />
      <Disk data={data} />
    </div>
  );
}

/** Where nothing was measured there is nothing to draw. */
function Drawn({ data, lines, title, none, children }: PartProps & { lines: readonly Line[]; title: string; none: string; children: ReactNode }) {
  const some = lines.some(({ points }) => points.some((point) => point !== null));
  return <Panel title={title} aside={t.everySteps(data.stepMs / 1_000)}>{some ? children : <Note title={none} small />}</Panel>;
}

const line = (id: string, tone: string, points: Line["points"], name: string): Line => ({ id, tone, points, name });

function Throughput({ data }: PartProps) {
  const lines = useMemo(() => {
    const of = (id: keyof typeof t.rates, tone: string, dashed = false): Line => ({ ...line(id, tone, summed(data, id), t.rates[id]), dashed });
    return [of("instances.created", "ended", true), of("instances.completed", "active", true), of("jobs.created", "ended"), of("jobs.completed", "active"), of("jobs.failed", "incident")];
  }, [data]);
  return (
    <Drawn data={data} lines={lines} title={t.throughput} none={t.noneMeasured}>
      <Plot label={t.throughput} times={data.times} lines={lines} shown={rate} />
    </Drawn>
  );
}

function Latency({ data }: PartProps) {
  const lines = useMemo(() => STAGES.map((name, at) => line(name, `plot-${at + 1}`, stage(data, name), t.stages[name])), [data]);
  return (
    <Drawn data={data} lines={lines} title={t.latency} none={t.noRequests}>
      <Plot label={t.latency} times={data.times} lines={lines} shown={ms} isStacked />
    </Drawn>
  );
}

const CAUSES = ["refused.requestLimit", "refused.tenantShare", "refused.writeRate"] as const;
const CAUSE_TONES = { "refused.requestLimit": "incident", "refused.tenantShare": "moved", "refused.writeRate": "waiting" } as const;

/** The limits that keep commands out, and how many they did. */
function Refusals({ data }: PartProps) {
  const lines = useMemo(() => CAUSES.map((cause) => line(cause, CAUSE_TONES[cause], summed(data, cause), t.causes[cause])), [data]);
  const refused = lines.reduce((sum, { points }) => sum + total(points, data.stepMs), 0);
  const full = byNode(data, "refusing.disk", String).filter(({ points }) => (newest(points) ?? 0) > 0).map(({ name }) => name);
  const [inFlight, limit] = [newest(summed(data, "inFlight")), newest(summed(data, "inFlight.limit"))];
  return (
    <Panel title={t.refusals} aside={inFlight === undefined || limit === undefined ? undefined : t.inFlight(number(Math.round(inFlight)), number(Math.round(limit)))}>
      {full.length > 0 ? (
        <Note tone="incident" icon={<HardDrive size={20} strokeWidth={1.75} />} title={t.diskFull(full)} small>
          {t.diskFullText}
        </Note>
      ) : null}
      {refused < 1 ? (
        <Note icon={<CircleCheck size={20} strokeWidth={1.75} className="good" />} title={t.noRefusals} small>
          {t.noRefusalsText}
        </Note>
      ) : (
        <Plot label={t.refusals} times={data.times} lines={lines} shown={rate} isStacked />
      )}
    </Panel>
  );
}

function Partitions({ data }: PartProps) {
  const lines = useMemo(() => byPartition(data, "records", t.partition), [data]);
  return (
    <Drawn data={data} lines={lines} title={t.partitions} none={t.noneMeasured}>
      <Plot label={t.partitions} times={data.times} lines={lines} shown={rate} />
    </Drawn>
  );
}

function Lag({ data }: PartProps) {
  const lines = useMemo(() => lags(data, t.exporter), [data]);
  const most = Math.max(0, ...lines.map(({ points }) => newest(points) ?? 0));
  return (
    <Panel title={t.exportLag} aside={lines.length === 0 ? undefined : most < 1 ? t.lagNone : t.records(number(Math.round(most)))}>
      {lines.length === 0 ? <Note title={t.noExporters} small /> : <Plot label={t.exportLag} times={data.times} lines={lines} shown={count} />}
    </Panel>
  );
}

function Disk({ data }: PartProps) {
  const lines = useMemo(() => {
    const needed = Math.max(0, ...byNode(data, "disk.needed", String).map(({ points }) => largest(points)));
    const free = byNode(data, "disk.free", t.free);
    return needed === 0 ? free : [...free, { ...line("needed", "incident", data.times.map(() => needed), t.needed), dashed: true }];
  }, [data]);
  return (
    <Drawn data={data} lines={lines} title={t.disk} none={t.noDisk}>
      <Plot label={t.disk} times={data.times} lines={lines} shown={bytes} isBinary />
    </Drawn>
  );
}
