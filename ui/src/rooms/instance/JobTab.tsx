// What workers were asked for, the newest first.
import type { UseQueryResult } from "@tanstack/react-query";
import type { Job } from "../../api/instances";
import type { Problem } from "../../api/problem";
import { Cut, type Page } from "../../parts/Cut";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { useScope } from "./scope";

const t = text.instance;

export function JobTab({ query }: { query: UseQueryResult<{ items: Job[]; page: Page }, Problem> }) {
  const { after, chooseScope } = useScope();
  return (
    <Shown query={query} rows={3}>
      {({ items, page }) =>
        items.length === 0 && after === undefined ? (
          <Note title={t.jobsNone} small>
            {t.jobsNoneText}
          </Note>
        ) : (
          <>
            <ul className="entries">
              {items.map((each) => (
                <li key={each.jobKey} className="entry">
                  <div className="entry-head">
                    <State name={each.state} />
                    <b className="clip mono" title={each.type}>{each.type}</b>
                    <span className="grow" />
                    <span className="faint">{t.causes.jobRetries(each.retries)}</span>
                  </div>
                  {each.errorMessage ? <p className="entry-text">{each.errorMessage}</p> : null}
                  <p className="entry-foot faint">
                    <button type="button" className="words-button" onClick={() => chooseScope(each.elementInstanceKey)}>
                      {each.elementId}
                    </button>
                    {each.worker ? <span className="clip">{each.worker}</span> : null}
                    <Time at={each.endTime ?? each.creationTime} />
                    <span className="mono">{each.jobKey}</span>
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
