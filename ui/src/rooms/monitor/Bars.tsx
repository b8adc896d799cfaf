// Counts over time as groups of bars, and the same as a table: for those who want figures, and those who do not see bars.
import type { Slot } from "../../api/monitor";
import { text } from "../../text";
import { clock, compact, number } from "../../text/format";
import { useZone } from "../../text/zone";
import { top } from "./scale";

const t = text.monitor;

export interface Series {
  name: string;
  /** A colour that has a meaning. */
  tone: "active" | "incident" | "ended";
  values: readonly number[];
}

interface BarsProps {
  label: string;
  slots: readonly Slot[];
  series: readonly Series[];
}

export function Bars({ label, slots, series }: BarsProps) {
  useZone();
  const highest = top(Math.max(0, ...series.flatMap(({ values }) => values)));
  return (
    <figure className="bars">
      <figcaption className="bars-legend">
        {series.map(({ name, tone }) => (
          <span key={name} className={`bars-key ${tone}`}>
            {name}
          </span>
        ))}
      </figcaption>
      <div className="bars-plot" aria-hidden="true">
        <div className="bars-scale figure">
          {[highest, highest / 2, 0].map((value) => (
            <span key={value}>{Number.isInteger(value) ? compact(value) : ""}</span>
          ))}
        </div>
        <div className="bars-ground">
          {slots.map((slot, at) => (
            <div key={slot.from} className="bars-slot" title={told(slot, series, at)}>
              {series.map(({ name, tone, values }) => (
                <span key={name} className={`bars-bar ${tone}`} style={{ height: `${(100 * (values[at] ?? 0)) / highest}%` }} />
              ))}
            </div>
          ))}
        </div>
        <div className="bars-times figure">
          {slots.filter((_, at) => at % 3 === 0).map(({ from }) => (
            <span key={from}>{clock(from)}</span>
          ))}
        </div>
      </div>
      <details className="bars-table">
        <summary>{t.figures}</summary>
        <table className="figures-table" aria-label={label}>
          <thead>
            <tr>
              <th scope="col">{t.time}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {slots.map((slot, at) => (
              <tr key={slot.from}>
                <th scope="row" className="figure">{clock(slot.from)}</th>
                {series.map(({ name, values }) => (
                  <td key={name} className="number">{number(values[at] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

const told = ({ from, to }: Slot, series: readonly Series[], at: number): string =>
  t.slot(clock(from), clock(to), series.map(({ name, values }) => t.value(values[at] ?? 0, name)).join(", "));
