// Where tokens have been waiting longer than usual.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Clock } from "lucide-react";
import { kept } from "../../api/live";
import { type OverdueElement, overdue } from "../../api/overdue";
import { useTenancy } from "../../api/tenant";
import { useNow } from "../../parts/now";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { atLeast, exact, span } from "../../text/format";

const t = text.home;

export function Late() {
  const query = useQuery({ ...overdue(), ...kept });
  const ofAll = useTenancy()?.chosen !== undefined;
  return (
    <Panel title={t.late} aside={ofAll ? text.tenants.ofAll : undefined}>
      <Shown query={query} rows={2}>
        {({ items, hasMore }) =>
          items.length === 0 ? (
            <p className="late-none muted">{t.lateNone}</p>
          ) : (
            <>
              <ul className="late-list">
                {items.map((each) => (
                  <LateRow key={`${each.processDefinitionKey} ${each.elementId}`} row={each} />
                ))}
              </ul>
              {hasMore ? <p className="late-more faint">{t.lateMore}</p> : null}
            </>
          )
        }
      </Shown>
    </Panel>
  );
}

function LateRow({ row }: { row: OverdueElement }) {
  const now = useNow(1_000);
  const tenants = (useTenancy()?.tenants.length ?? 0) > 1;
  const waits = t.lateFor(span(now - Date.parse(row.oldest)), span(row.usualMs));
  const process = t.lateOf(row.processDefinitionName ?? row.processDefinitionId, row.processDefinitionVersion);
  const search = {
    process: row.processDefinitionId,
    ...(row.processDefinitionVersion === null ? {} : { version: String(row.processDefinitionVersion) }),
    state: "active,incident",
    element: row.elementId,
    sort: "startDate",
    ...(tenants ? { tenant: row.tenantId } : {}),
  };
  return (
    <li>
      <Link to="/processes" search={search} className="late-row">
        <span className="late-count figure" title={t.lateTokens(row.overdue, row.hasMoreOverdue)}>
          <Clock size={12} aria-hidden="true" />
          {atLeast(row.overdue, row.hasMoreOverdue)}
        </span>
        <span className="late-text">
          <span className="row">
            <span className="process-name clip" title={row.elementName}>{row.elementName}</span>
            <span className="process-aside faint clip">{tenants ? `${process} · ${row.tenantId}` : process}</span>
          </span>
          <span className="late-waits" title={exact(row.oldest)}>{waits}</span>
        </span>
      </Link>
    </li>
  );
}
