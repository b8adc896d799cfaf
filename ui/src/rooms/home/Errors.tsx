// What goes wrong most.
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import type { ErrorGroup } from "../../api/incidents";
import type { Problem } from "../../api/problem";
import { useTenancy } from "../../api/tenant";
import { Note } from "../../parts/Note";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { compact } from "../../text/format";

const t = text.home;

export function Errors({ query }: { query: UseQueryResult<{ items: ErrorGroup[] }, Problem> }) {
  const some = (query.data?.items.length ?? 0) > 0;
  const ofAll = useTenancy()?.chosen !== undefined;
  return (
    <Panel title={t.errors} aside={ofAll ? text.tenants.ofAll : undefined} actions={some ? <Link to="/incidents">{t.errorsAll}</Link> : undefined}>
      <Shown query={query} rows={4}>
        {({ items }) =>
          items.length === 0 ? (
            <Note icon={<CircleCheck size={20} strokeWidth={1.75} className="good" />} title={t.errorsNone} limited>
              {t.errorsNoneText}
            </Note>
          ) : (
            <ul className="error-list">
              {items.map((each) => (
                <li key={each.errorHashCode}>
                  <Link to="/incidents" search={{ error: String(each.errorHashCode) }} className="error-row">
                    <span className="error-count figure">{compact(each.activeInstancesWithErrorCount)}</span>
                    <span className="error-text">{each.errorMessage}</span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Panel>
  );
}
