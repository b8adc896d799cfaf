// How far a batch operation is: done, failed, and what is left.
import type { Batch } from "../../api/batches";
import { text } from "../../text";

const t = text.batches;

export function Progress({ batch }: { batch: Batch }) {
  const { operationsTotalCount: total, operationsCompletedCount: done, operationsFailedCount: bad } = batch;
  const share = (count: number) => (total === 0 ? 0 : (100 * count) / total);
  return (
    <span className="progress">
      <svg className="progress-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect className="progress-ground" width="100" height="6" />
        <rect className="progress-done" width={share(done)} height="6" />
        <rect className="progress-failed" x={share(done)} width={share(bad)} height="6" />
      </svg>
      <span className="figure">{t.done(done + bad, total)}</span>
      {bad > 0 ? <span className="figure bad">{t.failed(bad)}</span> : null}
    </span>
  );
}
