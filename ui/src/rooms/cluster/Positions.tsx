// How far each partition is: the log, what of it is processed, and what each exporter has of it.
import { useQuery } from "@tanstack/react-query";
import { nodeStates } from "../../api/cluster";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { cluster as t } from "../../text/cluster";
import { number } from "../../text/format";
import { type Positions as Of, positionsOf, widthOf } from "./state";
import "./positions.css";

export function Positions({ partitions }: { partitions: readonly number[] }) {
  const states = useQuery(nodeStates());
  return (
    <Panel title={t.positions} aside={t.positionsHint}>
      <Shown query={states} rows={3} small>
        {(nodes) => {
          const all = partitions.map((id) => [id, positionsOf(nodes, id)] as const);
          const width = widthOf(all.flatMap(([, of]) => (of === undefined ? [] : [of])));
          return (
            <ul className="positions">
              {all.map(([id, of]) => (
                <li key={id} className="positions-one" aria-label={t.partition(id)}>
                  <h3>{t.partition(id)}</h3>
                  {of === undefined ? <p className="faint">{t.leaderUnknown}</p> : <Bars of={of} width={width} />}
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </Panel>
  );
}

function Bars({ of: { log, processed, exported }, width }: { of: Of; width: number }) {
  const rows = [
    { name: t.log, id: "", position: log, tone: "log", state: "" },
    { name: t.processed, id: "", position: processed, tone: "processed", state: "" },
    ...exported.map(({ id, position, state }) => ({ name: t.exported, id, position, tone: state === "FAILING" ? "failing" : "exported", state })),
  ];
  return (
    <dl className="positions-bars">
      {rows.map(({ name, id, position, tone, state }) => (
        <div key={`${name} ${id}`} className="positions-bar">
          <dt>
            {name}
            {id === "" ? null : <span className="faint mono clip" title={id}>{id}</span>}
          </dt>
          <dd>
            <span className={`positions-ground ${tone}`} aria-hidden="true">
              <span style={{ inlineSize: `${Math.max(0, 100 * (1 - (log - position) / width))}%` }} />
            </span>
            <span className="figure number">{number(position)}</span>
            <span className={`positions-gap${tone === "failing" ? " bad" : " faint"}`}>
              {tone === "log" ? null : t.behind(log - position)}
              {["PAUSED", "SOFT_PAUSED", "FAILING"].includes(state) ? `, ${t.exporterStates[state]}` : null}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
