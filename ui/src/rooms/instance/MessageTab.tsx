// Messages that something in the instance waits, or waited, for.
import type { UseQueryResult } from "@tanstack/react-query";
import type { Message } from "../../api/instances";
import type { Problem } from "../../api/problem";
import { Cut, type Page } from "../../parts/Cut";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { useScope } from "./scope";

const t = text.instance;

export function MessageTab({ query }: { query: UseQueryResult<{ items: Message[]; page: Page }, Problem> }) {
  const { after } = useScope();
  return (
    <Shown query={query} rows={3}>
      {({ items, page }) =>
        items.length === 0 && after === undefined ? (
          <Note title={t.messagesNone} small>
            {t.messagesNoneText}
          </Note>
        ) : (
          <>
            <ul className="entries">
              {items.map((each) => (
                <li key={each.messageSubscriptionKey} className="entry">
                  <div className="entry-head">
                    <State name={each.messageSubscriptionState} />
                    <b className="clip" title={each.messageName}>{each.messageName}</b>
                  </div>
                  <p className="entry-foot faint">
                    <span>{each.elementId}</span>
                    {each.correlationKey ? <span className="clip">{t.causes.messageKey(each.correlationKey)}</span> : null}
                    <Time at={each.lastUpdatedDate} />
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
