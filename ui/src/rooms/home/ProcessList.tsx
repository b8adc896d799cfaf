// Each process with how many of its instances are at work, and how many cannot go on.
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Problem } from "../../api/problem";
import { type Definition, type Load, processOf } from "../../api/processes";
import { isHere, useTenantShown } from "../../api/tenant";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { compact } from "../../text/format";

const t = text.home;
type Rows<T> = UseQueryResult<{ items: T[] }, Problem>;

interface Row {
  id: string;
  tenant: string;
  name: string;
  aside: string;
  active: number;
  stuck: number;
}

/** Those with incidents first, then those with most to do. */
function rows(definitions: readonly Definition[], load: readonly Load[]): Row[] {
  const at = new Map(load.filter(isHere).map((each) => [processOf(each), each]));
  const all = definitions.map((each) => {
    const found = at.get(processOf(each));
    at.delete(processOf(each));
    return row(each, each.name, t.version(each.version), found);
  });
  // What was deleted and still has instances.
  for (const each of at.values()) all.push(row(each, each.latestProcessDefinitionName, each.processDefinitionId, each));
  return all.toSorted((a, b) => b.stuck - a.stuck || b.active - a.active || a.name.localeCompare(b.name));
}

type Of = Pick<Load, "processDefinitionId" | "tenantId">;

const row = ({ processDefinitionId: id, tenantId: tenant }: Of, name: string | null | undefined, aside: string, load: Load | undefined): Row => ({
  id,
  tenant,
  name: name ?? id,
  aside,
  active: load?.activeInstancesWithoutIncidentCount ?? 0,
  stuck: load?.activeInstancesWithIncidentCount ?? 0,
});

export function ProcessList({ definitions, load }: { definitions: Rows<Definition>; load: Rows<Load> }) {
  return (
    <Panel title={t.processes} actions={<Link to="/processes">{t.processesAll}</Link>}>
      <Shown query={definitions} rows={8}>
        {({ items }) => {
          const all = rows(items, load.data?.items ?? []);
          const most = Math.max(1, ...all.map((each) => each.active + each.stuck));
          return (
            <ul className="process-list">
              {all.map((each) => (
                <ProcessRow key={`${each.tenant} ${each.id}`} row={each} most={most} />
              ))}
            </ul>
          );
        }}
      </Shown>
    </Panel>
  );
}

function ProcessRow({ row, most }: { row: Row; most: number }) {
  const tenants = useTenantShown();
  const idle = row.active + row.stuck === 0;
  return (
    <li>
      <Link to="/processes" search={{ process: row.id, ...(tenants ? { tenant: row.tenant } : {}), ...(idle ? {} : { state: "active,incident" }) }} className="process-row" title={row.name}>
        <span className="row">
          <span className="process-name clip">{row.name}</span>
          <span className="process-aside faint">{tenants ? `${row.aside} · ${row.tenant}` : row.aside}</span>
        </span>
        <span className="process-load" title={t.load(row.active + row.stuck, row.stuck)}>
          {row.stuck > 0 ? <span className="process-stuck figure">{compact(row.stuck)}</span> : null}
          <span className={`figure${idle ? " faint" : ""}`}>{idle ? t.idle : compact(row.active + row.stuck)}</span>
        </span>
        <Bar active={row.active / most} stuck={row.stuck / most} />
      </Link>
    </li>
  );
}

/** Lengths compare processes with each other. */
function Bar({ active, stuck }: { active: number; stuck: number }) {
  return (
    <svg className="process-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect className="bar-ground" width="100" height="4" />
      <rect className="bar-stuck" width={stuck * 100} height="4" />
      <rect className="bar-active" x={stuck * 100} width={active * 100} height="4" />
    </svg>
  );
}
