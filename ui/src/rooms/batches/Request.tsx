// How a batch operation was requested: the filter that chose its instances, and the plan of what became of them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type BatchRequest, request } from "../../api/batches";
import { type BatchKey, type DefinitionKey, asKey } from "../../api/keys";
import { definition } from "../../api/processes";
import { Json } from "../../parts/Json";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { type Term, pairsOf, termsOf } from "./terms";

const t = text.batches;

export function Request({ of }: { of: BatchKey }) {
  const query = useQuery(request(of));
  return (
    <section className="batch-request" aria-label={t.request}>
      <Shown query={query} rows={1} small>
        {(asked) => (asked.filter === null ? <p className="faint">{t.requestUnknown}</p> : <Details filter={asked.filter} asked={asked} />)}
      </Shown>
    </section>
  );
}

function Details({ filter, asked }: { filter: Record<string, unknown>; asked: BatchRequest }) {
  const { migrationPlan, moveInstructions } = asked;
  const plan = migrationPlan ? { migrationPlan } : moveInstructions ? { moveInstructions } : {};
  return (
    <>
      <ul className="batch-terms">
        <li className="label">{t.request}</li>
        {termsOf(filter).map((term) => (
          <Said key={`${term.name} ${term.value}`} {...term} />
        ))}
        {migrationPlan ? <Target of={asKey<DefinitionKey>(migrationPlan.targetProcessDefinitionKey)} /> : null}
        <Moves asked={asked} />
      </ul>
      <details>
        <summary>{t.asSent}</summary>
        <Json value={JSON.stringify({ filter, ...plan })} />
      </details>
    </>
  );
}

const Said = ({ name, value }: Term) => (
  <li className="batch-term">
    <span className="faint">{name}</span>
    <span className="clip" title={value}>
      {value}
    </span>
  </li>
);

function Moves({ asked: { migrationPlan, moveInstructions } }: { asked: BatchRequest }) {
  const moves = pairsOf(migrationPlan?.mappingInstructions ?? moveInstructions ?? []);
  return moves === "" ? null : <Said name={migrationPlan ? t.maps : t.moves} value={moves} />;
}

/** The key says it until the definition is there, and when it was deleted. */
function Target({ of }: { of: DefinitionKey }) {
  const found = useQuery(definition(of)).data;
  return (
    <li className="batch-term">
      <span className="faint">{t.target}</span>
      {found === undefined ? (
        <span className="mono">{of}</span>
      ) : (
        <Link to="/processes" search={{ process: found.processDefinitionId, version: String(found.version) }} className="clip">
          {`${found.name ?? found.processDefinitionId} v${found.version}`}
        </Link>
      )}
    </li>
  );
}
