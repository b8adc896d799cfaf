// One incident is retried before all of them are: what became of it stands beside the button for all.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { retry } from "../../api/commands";
import type { Incident } from "../../api/incidents";
import { type ElementInstance, elementInstance } from "../../api/instances";
import { type ElementKey, asKey } from "../../api/keys";
import { rightsOn } from "../../api/rights";
import { MayButton } from "../../parts/MayButton";
import { failed } from "../../parts/failed";
import { text } from "../../text";

const t = text.incidents;

/** What became of an element whose incident was retried. */
const outcomeOf = ({ hasIncident, state }: ElementInstance): string =>
  hasIncident ? t.oneFailed : state === "ACTIVE" ? t.oneActive : state === "COMPLETED" ? t.oneDone : t.oneEnded;

/** `next` is the one that would be tried now; `several` whether there are others to try after it. */
export function OneFirst({ next, several }: { next: Incident | undefined; several: boolean }) {
  const [tried, setTried] = useState<Incident>();
  const [busy, setBusy] = useState(false);
  const now = useQuery({ ...elementInstance(tried?.elementInstanceKey ?? asKey<ElementKey>("0")), enabled: tried !== undefined && !busy }).data;
  const go = async (incident: Incident) => {
    setBusy(true);
    try {
      await retry(incident.incidentKey, incident.jobKey);
      setTried(incident);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {tried && now && !busy ? (
        <span className="muted" role="status">
          <Link to="/processes/i/$key" params={{ key: tried.processInstanceKey }} search={{ scope: tried.elementInstanceKey }}>
            {t.one}
          </Link>{" "}
          {outcomeOf(now)}
        </span>
      ) : null}
      {next && several ? (
        <MayButton needs={rightsOn(next.processDefinitionId).update} className="button small" disabled={busy} onClick={() => void go(next)}>
          {tried ? t.retryAnother : t.retryOne}
        </MayButton>
      ) : null}
    </>
  );
}
