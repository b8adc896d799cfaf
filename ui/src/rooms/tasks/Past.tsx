// Who did what with the task, the newest first, as far as the server keeps it.
import { type Deed, useDeedsOfTask } from "../../api/audit";
import type { Task } from "../../api/tasks";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import "../../parts/entries.css";

const t = text.tasks;

/** To assign a task to oneself is to claim it. */
function words({ operationType, actorId, relatedEntityKey }: Deed): string {
  if (operationType === "ASSIGN") return relatedEntityKey === null ? t.past.assigned : relatedEntityKey === actorId ? t.past.claimed : t.assigned(relatedEntityKey);
  return t.past.deeds[operationType] ?? text.words.kind(operationType);
}

export function Past({ task }: { task: Task }) {
  const { query, list } = useDeedsOfTask(task.userTaskKey);
  return (
    <Shown query={query} rows={3}>
      {() =>
        list.rows.length === 0 ? (
          <Note title={text.instance.auditNone} small>
            {t.past.noneText}
          </Note>
        ) : (
          <>
            <ol className="entries" aria-label={t.tabs.history}>
              {list.rows.map((each) => (
                <li key={each.auditLogKey} className="entry">
                  <div className="entry-head">
                    <State name={each.result === "FAIL" ? "FAILED" : "COMPLETED"} bare />
                    <b className="clip">{words(each)}</b>
                    <span className="faint clip">{t.past.by(each.actorId ?? text.instance.somebody)}</span>
                    <span className="grow" />
                    <span className="faint">
                      <Time at={each.timestamp} />
                    </span>
                  </div>
                </li>
              ))}
            </ol>
            {query.hasNextPage ? (
              <button type="button" className="button small entries-more" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                {text.words.more}
              </button>
            ) : null}
          </>
        )
      }
    </Shown>
  );
}
