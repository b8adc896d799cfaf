// Who did what to the instance, as far as the server keeps it.
import { useQuery } from "@tanstack/react-query";
import { deedsOf } from "../../api/audit";
import type { Instance } from "../../api/instances";
import { Cut } from "../../parts/Cut";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { useScope } from "./scope";

const t = text.instance;

export function AuditTab({ instance }: { instance: Instance }) {
  const { after } = useScope();
  const query = useQuery(deedsOf(instance.processInstanceKey, after));
  return (
    <Shown query={query} rows={3}>
      {({ items, page }) =>
        items.length === 0 && after === undefined ? (
          <Note title={t.auditNone} small>
            {t.auditNoneText}
          </Note>
        ) : (
          <>
            <ul className="entries">
              {items.map((each) => (
                <li key={each.auditLogKey} className="entry">
                  <div className="entry-head">
                    <State name={each.result === "FAIL" ? "FAILED" : "COMPLETED"} bare />
                    <b className="clip">{t.deed(text.words.kind(each.operationType), text.words.kind(each.entityType))}</b>
                    <span className="clip mono">{each.entityDescription ?? ""}</span>
                    <span className="grow" />
                    <span className="faint">
                      <Time at={each.timestamp} />
                    </span>
                  </div>
                  <p className="entry-foot faint">
                    <span>{each.actorId ?? t.somebody}</span>
                    <span className="mono">{each.entityKey}</span>
                    {each.batchOperationKey ? <span className="mono">{`${text.batches.title} ${each.batchOperationKey}`}</span> : null}
                  </p>
                </li>
              ))}
            </ul>
            <Cut shown={items.length} page={page} after={after} />
          </>
        )
      }
    </Shown>
  );
}
