// When it happened within the life of the whole.
import { useNow } from "../../../parts/now";
import { between, exact } from "../../../text/format";
import { useZone } from "../../../text/zone";

export interface Times {
  from: number;
  to: number | undefined;
}

export function Bar({ times, from, to }: { times: Times; from: string; to: string | null | undefined }) {
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
