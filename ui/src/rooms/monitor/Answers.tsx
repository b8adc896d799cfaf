// How long answers took that this page got, by operation.
import type { Summary } from "../../api/timing";
import { Panel } from "../../parts/Panel";
import { text } from "../../text";
import { number } from "../../text/format";

const t = text.monitor;
const MOST = 12;

export function Answers({ each }: { each: readonly Summary[] }) {
  return (
    <Panel title={t.seen}>
      <p className="monitor-text muted">{t.seenText}</p>
      <div className="monitor-scroll">
        <table className="figures-table">
          <thead>
            <tr>
              <th scope="col">{t.operation}</th>
              <th scope="col" className="number">{t.count}</th>
              <th scope="col" className="number">{t.half}</th>
              <th scope="col" className="number">{t.most}</th>
              <th scope="col" className="number">{t.errors}</th>
            </tr>
          </thead>
          <tbody>
            {each.slice(0, MOST).map(({ name, count, p50, p95, failed }) => (
              <tr key={name}>
                <th scope="row">
                  <span className="mono clip" title={name}>
                    {name}
                  </span>
                </th>
                <td className="number">{number(count)}</td>
                <td className="number">{t.ms(p50)}</td>
                <td className="number">{t.ms(p95)}</td>
                <td className={`number${failed > 0 ? " bad" : ""}`}>{number(failed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
