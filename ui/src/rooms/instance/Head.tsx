// What the instance is: its state, its version, its ages, and what it was called by.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { type Instance, callers } from "../../api/instances";
import { type Definition, isDeleted } from "../../api/processes";
import { useTenancy } from "../../api/tenant";
import { Deleted } from "../../parts/Deleted";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { Took } from "../../parts/Took";
import { text } from "../../text";
import { Actions } from "./Actions";

const t = text.instance;
const route = getRouteApi("/processes/i/$key");

export function Head({ instance, definition }: { instance: Instance; definition: Definition | undefined }) {
  const called = instance.parentProcessInstanceKey !== null && instance.parentProcessInstanceKey !== undefined;
  const tenants = useTenancy() !== undefined;
  const changing = route.useSearch().do !== undefined;
  const above = useQuery({ ...callers(instance.processInstanceKey), enabled: called });
  return (
    <header className="instance-head">
      {called ? (
        <nav className="instance-callers" aria-label={t.calledBy}>
          {(above.data ?? [])
            .filter((each) => each.processInstanceKey !== instance.processInstanceKey)
            .map((each) => (
              <span key={each.processInstanceKey} className="row">
                <Link to="/processes/i/$key" params={{ key: each.processInstanceKey }} className="clip">
                  {each.processDefinitionName}
                </Link>
                <ChevronRight size={14} aria-hidden="true" />
              </span>
            ))}
        </nav>
      ) : null}
      <div className="instance-facts">
        <State name={instance.hasIncident ? "INCIDENT" : instance.state} />
        <Fact name={t.key}>
          <span className="mono">{instance.processInstanceKey}</span>
        </Fact>
        <Fact name={text.processes.process}>
          <Link to="/processes" search={{ process: instance.processDefinitionId, version: String(instance.processDefinitionVersion) }} title={definition?.resourceName ?? undefined}>
            {text.processes.versionOf(instance.processDefinitionVersion, instance.processDefinitionVersionTag)}
          </Link>
        </Fact>
        {definition && isDeleted(definition) ? <Deleted /> : null}
        {tenants ? <Fact name={text.tenants.tenant}>{instance.tenantId}</Fact> : null}
        {instance.businessId ? <Fact name={t.business}>{instance.businessId}</Fact> : null}
        <Fact name={t.started}>
          <Time at={instance.startDate} />
        </Fact>
        {instance.endDate ? (
          <Fact name={t.ended}>
            <Time at={instance.endDate} />
          </Fact>
        ) : null}
        <Fact name={text.processes.took}>
          <Took from={instance.startDate} to={instance.endDate} />
        </Fact>
        {instance.tags.length > 0 ? <Fact name={t.tags}>{instance.tags.join(", ")}</Fact> : null}
        <span className="grow" />
        {changing ? null : <Actions instance={instance} />}
      </div>
    </header>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="fact">
      <span className="fact-name">{name}</span>
      <span className="clip">{children}</span>
    </span>
  );
}
