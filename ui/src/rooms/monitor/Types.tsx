// The job types of the span: those that fail first, then those with most to do.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { kept } from "../../api/live";
import { type Slot, type TypeLoad, typesOver } from "../../api/monitor";
import { Note } from "../../parts/Note";
import { Panel } from "../../parts/Panel";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { number } from "../../text/format";

const t = text.monitor;
const MOST = 12;

const order = (a: TypeLoad, b: TypeLoad): number => b.failed.count - a.failed.count || b.created.count + b.completed.count - a.created.count - a.completed.count || a.jobType.localeCompare(b.jobType);

export function Types({ slots }: { slots: readonly Slot[] }) {
  const found = useQuery({ ...typesOver(slots), ...kept });
  return (
    <Panel title={t.types} actions={<Link to="/jobs">{t.typesAll}</Link>}>
      <Shown query={found} rows={4} small>
        {({ items }) =>
          items.length === 0 ? (
            <Note title={t.typesNone} small />
          ) : (
            <div className="monitor-scroll">
              <table className="figures-table">
                <thead>
                  <tr>
                    <th scope="col">{t.type}</th>
                    <th scope="col" className="number">{t.created}</th>
                    <th scope="col" className="number">{t.completed}</th>
                    <th scope="col" className="number">{t.failures}</th>
                    <th scope="col" className="number">{t.workers}</th>
                  </tr>
                </thead>
                <tbody>
                  {items.toSorted(order).slice(0, MOST).map((each) => (
                    <tr key={each.jobType}>
                      <th scope="row">
                        <Link to="/jobs/$type" params={{ type: each.jobType }} className="mono clip" title={each.jobType}>
                          {each.jobType}
                        </Link>
                      </th>
                      <td className="number">{number(each.created.count)}</td>
                      <td className="number">{number(each.completed.count)}</td>
                      <td className={`number${each.failed.count > 0 ? " bad" : ""}`}>{number(each.failed.count)}</td>
                      <td className="number">{number(each.workers)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
    </Panel>
  );
}
