// Why items of a batch operation failed: each reason once, with how many it stopped.
import { useQuery } from "@tanstack/react-query";
import { type Batch, failures } from "../../api/batches";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { number } from "../../text/format";
import { grouped } from "./errors";

const t = text.batches;

export function Errors({ operation }: { operation: Batch }) {
  const failed = operation.operationsFailedCount;
  const found = useQuery({ ...failures(operation.batchOperationKey), enabled: failed > 0 });
  if (failed === 0) return null;
  return (
    <section className="batch-reasons" aria-label={t.reasons}>
      <Shown query={found} rows={1} small>
        {({ messages, isWhole }) => (
          <>
            <ul>
              {grouped(messages).map(({ message, count }) => (
                <li key={message}>
                  <span className="bad figure">{number(count)}</span>
                  <span>{message || t.noReason}</span>
                </li>
              ))}
            </ul>
            {isWhole ? null : <p className="faint">{t.reasonsOf(number(messages.length))}</p>}
          </>
        )}
      </Shown>
    </section>
  );
}
