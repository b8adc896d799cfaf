// What became of the jobs of a type within the hour: bars of five minutes each, and their sums in words.
import { useQuery } from "@tanstack/react-query";
import { type JobSlot, jobHour } from "../../api/jobs";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { clock } from "../../text/format";
import { useZone } from "../../text/zone";

const t = text.jobs;
const KINDS = ["created", "completed", "failed"] as const;
const words = { created: t.created, completed: t.done, failed: t.failed };

export function Hour({ type }: { type: string }) {
  useZone();
  const hour = useQuery(jobHour(type));
  return (
    <Shown query={hour} rows={1} small>
      {(slots) => <Bars slots={slots} />}
    </Shown>
  );
}

function Bars({ slots }: { slots: readonly JobSlot[] }) {
  const sums = KINDS.map((kind) => ({ kind, sum: slots.reduce((total, each) => total + each[kind], 0) })).filter(({ sum }) => sum > 0);
  if (sums.length === 0) return null;
  const highest = Math.max(...slots.flatMap((slot) => KINDS.map((kind) => slot[kind])));
  return (
    <figure className="job-hour" aria-label={t.hour}>
      <div className="job-bars" aria-hidden="true">
        {slots.map((slot) => (
          <span key={slot.from} className="job-slot" title={told(slot)}>
            {KINDS.map((kind) => (
              <i key={kind} className={`job-bar ${kind}`} style={{ height: `${(100 * slot[kind]) / highest}%` }} />
            ))}
          </span>
        ))}
      </div>
      <figcaption className="row wrap">
        <span className="faint">{t.hour}</span>
        {sums.map(({ kind, sum }) => (
          <span key={kind} className={`job-key ${kind} figure`}>
            {words[kind](sum)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const told = (slot: JobSlot): string => t.slot(clock(new Date(slot.from).toISOString()), KINDS.map((kind) => words[kind](slot[kind])).join(", "));
