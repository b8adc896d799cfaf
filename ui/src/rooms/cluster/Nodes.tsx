// Which node has which partition, who leads, whether all is well, and how far each partition is.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Crown, Scale, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { nodeStates, serverConfiguration } from "../../api/cluster";
import { rebalance } from "../../api/management";
import { RIGHTS } from "../../api/rights";
import { type Topology, topology } from "../../api/topology";
import { MayButton } from "../../parts/MayButton";
import { Note } from "../../parts/Note";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { useAct } from "../../parts/act";
import { text } from "../../text";
import { cluster as t } from "../../text/cluster";
import { number } from "../../text/format";
import { Positions } from "./Positions";
import { type Copy, drained, partitionsOf, troubles } from "./state";

export function Nodes() {
  const found = useQuery(topology());
  return (
    <Shown query={found} rows={6}>
      {(cluster) => (
        <>
          <Well cluster={cluster} />
          <Panel title={t.nodes} aside={t.summary(cluster.brokers.length, cluster.partitionsCount, cluster.replicationFactor)} actions={<Acts isAlone={cluster.clusterSize < 2} />}>
            <Grid cluster={cluster} />
          </Panel>
          <Positions partitions={partitionsOf(cluster)} />
          <About cluster={cluster} />
        </>
      )}
    </Shown>
  );
}

function Acts({ isAlone }: { isAlone: boolean }) {
  const { busy, act } = useAct();
  return (
    <>
      {isAlone ? null : (
        <MayButton needs={RIGHTS.operate} className="button small" title={t.rebalanceHint} disabled={busy} onClick={() => void act(rebalance, t.rebalanced)}>
          <Scale size={14} aria-hidden="true" />
          {t.rebalance}
        </MayButton>
      )}
      <Link to="/monitor">{text.monitor.title}</Link>
    </>
  );
}

function Well({ cluster }: { cluster: Topology }) {
  const { missingNodes, noLeader, fewCopies, unhealthy } = troubles(cluster);
  if (missingNodes === 0 && noLeader.length === 0 && fewCopies.length === 0 && unhealthy === 0) {
    return (
      <p className="cluster-well" role="status">
        <Check size={16} aria-hidden="true" />
        {t.well}
      </p>
    );
  }
  const icon = <TriangleAlert size={20} strokeWidth={1.75} />;
  return (
    <div className="cluster-troubles">
      {noLeader.length > 0 ? <Note tone="incident" icon={icon} title={t.noLeader(noLeader.join(", "))} small>{t.noLeaderText}</Note> : null}
      {missingNodes > 0 ? <Note tone="incident" icon={icon} title={t.missingNodes(missingNodes)} small>{t.missingText}</Note> : null}
      {fewCopies.length > 0 ? <Note tone="incident" icon={icon} title={t.fewCopies(fewCopies.join(", "))} small /> : null}
      {unhealthy > 0 ? <Note tone="incident" icon={icon} title={t.unhealthy(unhealthy)} small /> : null}
    </div>
  );
}

function Grid({ cluster }: { cluster: Topology }) {
  const partitions = partitionsOf(cluster);
  // Who may not see it does without.
  const states = useQuery(nodeStates());
  const left = states.data === undefined ? new Map<number, number | undefined>() : drained(states.data);
  const nodes = cluster.brokers.toSorted((a, b) => a.nodeId - b.nodeId);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what is wider than the page is scrolled by keys as well
    <div className="cluster-scroll" tabIndex={0} role="region" aria-label={t.nodes}>
      <table className="cluster-grid">
        <thead>
          <tr>
            <th scope="col">{t.node}</th>
            <th scope="col">{t.address}</th>
            <th scope="col">{t.version}</th>
            <th scope="col" className="number">{t.leads}</th>
            {partitions.map((id) => (
              <th key={id} scope="col">
                {t.partition(id)}
                {left.has(id) ? <span className={`cluster-drained${left.get(id) === 0 ? " done" : ""}`}>{t.drained(left.get(id))}</span> : null}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((broker) => {
            const copies = new Map(broker.partitions.map((copy) => [copy.partitionId, copy]));
            return (
              <tr key={broker.brokerId}>
                <th scope="row" className="figure">{broker.brokerId}</th>
                <td className="mono">{`${broker.host}:${broker.port}`}</td>
                <td className="figure">{broker.skepVersion}</td>
                <td className="number">{number(broker.partitions.filter((copy) => copy.role === "leader").length)}</td>
                {partitions.map((id) => (
                  <td key={id}>
                    <Held copy={copies.get(id)} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Held({ copy }: { copy: Copy | undefined }) {
  if (copy === undefined) {
    return (
      <span className="faint" title={t.absent}>
        <span aria-hidden="true">–</span>
        <span className="hidden">{t.absent}</span>
      </span>
    );
  }
  const well = copy.health === "healthy";
  const doing = t.states[copy.state] ?? copy.state;
  return (
    <span className={`copy ${well ? copy.role : "bad"}`}>
      {well ? copy.role === "leader" ? <Crown size={14} aria-hidden="true" /> : null : <TriangleAlert size={14} aria-hidden="true" />}
      {t.roles[copy.role] ?? copy.role}
      {well ? null : `, ${t.health[copy.health] ?? copy.health}`}
      {doing === "" ? null : `, ${doing}`}
    </span>
  );
}

function About({ cluster }: { cluster: Topology }) {
  const configuration = useQuery(serverConfiguration());
  const known = configuration.data;
  return (
    <Panel title={t.about}>
      <dl className="cluster-about">
        <Fact name={t.skep}>{cluster.skepVersion}</Fact>
        <Fact name={t.api}>{cluster.gatewayVersion}</Fact>
        {cluster.clusterId === null ? null : (
          <Fact name={t.clusterId}>
            <span className="mono">{cluster.clusterId}</span>
          </Fact>
        )}
        <Fact name={t.lastChange}>{cluster.lastCompletedChangeId === "-1" ? t.noChange : cluster.lastCompletedChangeId}</Fact>
        {known === undefined ? null : (
          <>
            <Fact name={t.tenants}>{known.deployment.isMultiTenancyEnabled ? t.on : t.off}</Fact>
            <Fact name={t.request}>{`${number(Math.round(known.deployment.maxRequestSize / 1024))} KiB`}</Fact>
            {known.components.active.length > 0 ? <Fact name={t.components}>{known.components.active.join(", ")}</Fact> : null}
          </>
        )}
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
