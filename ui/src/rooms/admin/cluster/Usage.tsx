// What was counted in a span of time.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { usage } from "../../../api/settings";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { number } from "../../../text/format";
import type { SectionProps } from "../page";

const t = text.admin;
const SPANS = ["30", "90", "365"] as const;
const DAY = 86_400_000;

export default function Usage({ search, change }: SectionProps) {
  const span = SPANS.find((each) => each === search.span) ?? "30";
  // To the end of this hour, so that the question stays the same for a while.
  const [now] = useState(() => Math.ceil(Date.now() / 3_600_000) * 3_600_000);
  const found = useQuery(usage(new Date(now - Number(span) * DAY).toISOString(), new Date(now).toISOString()));
  return (
    <section className="admin-one" aria-label={t.sections.usage}>
      <select className="field admin-span" aria-label={t.usageSpan} value={span} onChange={(event) => change({ ...search, span: event.target.value === "30" ? undefined : event.target.value })}>
        {SPANS.map((each) => (
          <option key={each} value={each}>
            {t.usageSpans[each]}
          </option>
        ))}
      </select>
      <Shown query={found} rows={3}>
        {(counted) => (
          <>
            <dl className="admin-figures">
              <Figure name={t.usageInstances} hint={t.usageInstancesText} value={counted.processInstances} />
              <Figure name={t.usageDecisions} hint={t.usageDecisionsText} value={counted.decisionInstances} />
              <Figure name={t.usageAssignees} hint={t.usageAssigneesText} value={counted.assignees} />
            </dl>
            <p className="faint">{t.usageLate}</p>
            <Tenants of={counted.tenants as Tenanted} />
          </>
        )}
      </Shown>
    </section>
  );
}

function Figure({ name, hint, value }: { name: string; hint: string; value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="admin-figure">{number(value)}</dd>
      <dd className="faint">{hint}</dd>
    </div>
  );
}

type Tenanted = Record<string, { processInstances?: number; decisionInstances?: number; assignees?: number }> | undefined;

/** Of one tenant it is said already. */
function Tenants({ of }: { of: Tenanted }) {
  const rows = Object.entries(of ?? {});
  if (rows.length < 2) return null;
  return (
    <Panel title={t.usageTenants}>
      <table className="rights">
        <thead>
          <tr>
            <th>{t.variableTenant}</th>
            <th>{t.usageInstances}</th>
            <th>{t.usageDecisions}</th>
            <th>{t.usageAssignees}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([tenant, counted]) => (
            <tr key={tenant} className="first">
              <td>{tenant}</td>
              <td className="figure">{number(counted.processInstances ?? 0)}</td>
              <td className="figure">{number(counted.decisionInstances ?? 0)}</td>
              <td className="figure">{number(counted.assignees ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
