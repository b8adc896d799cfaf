// What went wrong in the instance and in what it called.
import { useQuery } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { ofInstance } from "../../api/incidents";
import type { Instance } from "../../api/instances";
import { Explained } from "../../parts/Explained";
import { Cut } from "../../parts/Cut";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { RetryButton } from "../../parts/RetryButton";
import { useScope } from "./scope";

const t = text.instance;

export function IncidentTab({ instance }: { instance: Instance }) {
  const { after, chooseScope } = useScope();
  const query = useQuery(ofInstance(instance.processInstanceKey, after));
  return (
    <Shown query={query} rows={3}>
      {({ items, page }) =>
        items.length === 0 && after === undefined ? (
          <Note icon={<CircleCheck size={20} strokeWidth={1.75} />} title={t.incidentsNone} small>
            {t.incidentsNoneText}
          </Note>
        ) : (
          <>
            <ul className="entries">
              {items.map((each) => (
                <li key={each.incidentKey} className="entry">
                  <div className="entry-head">
                    <State name={each.state === "ACTIVE" ? "INCIDENT" : each.state} />
                    <b className="clip">{text.words.error(each.errorType)}</b>
                    <span className="grow" />
                    {each.state === "ACTIVE" ? <RetryButton process={each.processDefinitionId} incident={each.incidentKey} job={each.jobKey} /> : null}
                  </div>
                  <p className="entry-text">{each.errorMessage}</p>
                  <p className="entry-foot faint">
                    <button type="button" className="words-button" disabled={each.processInstanceKey !== instance.processInstanceKey} onClick={() => chooseScope(each.elementInstanceKey)}>
                      {each.elementId}
                    </button>
                    <Time at={each.creationTime} />
                    <span className="mono">{each.incidentKey}</span>
                    <Explained of={each.errorType} />
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
