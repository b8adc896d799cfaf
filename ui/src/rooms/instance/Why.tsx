// Why it does not go on: a sentence for each place where it stands, those that need somebody first.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowRight, CircleDot, Clock, ClockAlert, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { type Instance, diagnosis } from "../../api/instances";
import { useNow } from "../../parts/now";
import { Shown } from "../../parts/Shown";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { type Cause, type Place as Standing, causeOf, placesOf } from "../../parts/causes";
import { RetryButton } from "../../parts/RetryButton";
import { useScope } from "./scope";

const t = text.instance;
const icons = { incident: TriangleAlert, waiting: Clock, active: CircleDot } as const;
const FIRST = 3;

export function Why({ instance }: { instance: Instance }) {
  const [all, showAll] = useState(false);
  const query = useQuery(diagnosis(instance.processInstanceKey));
  return (
    <section className="why" aria-label={instance.hasIncident ? t.why : t.whyOk}>
      <h2>{instance.hasIncident ? t.why : t.whyOk}</h2>
      <Shown query={query} rows={1} small>
        {({ items, hasMore }) => {
          const sorted = placesOf(items);
          const shown = all ? sorted : sorted.slice(0, FIRST);
          if (sorted.length === 0) return <p className="why-none">{t.nothing}</p>;
          return (
            <>
              <ul className="why-list">
                {shown.map((place) => (
                  <Place key={`${place.key} ${place.id}`} place={place} process={instance.processDefinitionId} />
                ))}
              </ul>
              {sorted.length > FIRST ? (
                <button type="button" className="button small quiet" aria-expanded={all} onClick={() => showAll(!all)}>
                  {all ? text.words.less : t.whyMore(sorted.length - FIRST) + (hasMore ? "+" : "")}
                </button>
              ) : null}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function Place({ place, process }: { place: Standing; process: string }) {
  const now = useNow();
  const { chooseScope } = useScope();
  const causes = place.findings.map((finding) => causeOf(finding, now));
  return (
    <li className="why-place">
      <button type="button" className="words-button" title={place.id ?? undefined} onClick={() => chooseScope(place.key)}>
        <span className="clip">{place.name ?? place.id}</span>
      </button>
      <ul>
        {causes.map((cause) => (
          <Sentence key={`${cause.sentence} ${cause.detail} ${cause.incident?.key} ${cause.called}`} cause={cause} process={process} />
        ))}
      </ul>
    </li>
  );
}

function Sentence({ cause, process }: { cause: Cause; process: string }) {
  const Icon = cause.late === undefined ? icons[cause.tone] : ClockAlert;
  return (
    <li className={`why-cause ${cause.tone}${cause.late === undefined ? "" : " late"}`}>
      <Icon size={16} strokeWidth={2} aria-hidden="true" />
      <div className="why-words">
        <p>
          <b>{cause.sentence}</b>
          {cause.since ? (
            <span className="faint">
              {" · "}
              <Time at={cause.since} />
            </span>
          ) : null}
        </p>
        {cause.late ? <p className="why-late">{cause.late}</p> : null}
        {cause.detail ? <p className="why-detail">{cause.detail}</p> : null}
        {cause.remedy ? <p className="muted">{cause.remedy}</p> : null}
      </div>
      {cause.incident ? <RetryButton process={process} incident={cause.incident.key} job={cause.incident.job} main /> : null}
      {cause.called ? (
        <Link className="button small" to="/processes/i/$key" params={{ key: cause.called }}>
          {t.openCalled}
          <ArrowRight size={14} aria-hidden="true" />
        </Link>
      ) : null}
    </li>
  );
}
