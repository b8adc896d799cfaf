// A plot over the hour, with a legend that switches lines, a cursor that keys move, and the same as a table.
import { type KeyboardEvent, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { text } from "../../../text";
import { clock } from "../../../text/format";
import { useZone } from "../../../text/zone";
import { UPlot, type Wanted, coloursOf, dataOf, optionsOf } from "./draw";
import { type Line, means, newest } from "./lines";
import "uplot/dist/uPlot.min.css";
import "./plot.css";

const t = text.monitor;
const SPANS = 12;
/** Steps that a key with Shift goes. */
const FAR = 12;

interface PlotProps {
  label: string;
  times: readonly number[];
  lines: readonly Line[];
  isStacked?: boolean;
  isBinary?: boolean;
  shown: (value: number) => string;
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Another text with each other look of the page. */
function useLook(): string {
  return useSyncExternalStore(
    (changed) => {
      const observer = new MutationObserver(changed);
      observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      dark.addEventListener("change", changed);
      return () => {
        observer.disconnect();
        dark.removeEventListener("change", changed);
      };
    },
    () => `${document.documentElement.dataset.theme ?? ""} ${dark.matches}`,
  );
}

export function Plot({ label, times, lines, isStacked = false, isBinary = false, shown }: PlotProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number | null>(null);
  const [byKey, setByKey] = useState<number | null>(null);
  const look = useLook();
  const zone = useZone();
  const wanted = useMemo(() => ({ times, lines, hidden, isStacked, isBinary, shown }), [times, lines, hidden, isStacked, isBinary, shown]);
  // What is drawn again from the beginning when it is another one: which lines there are, and how they look.
  const shape = JSON.stringify([lines.map(({ id, tone, dashed }) => [id, tone, dashed]), [...hidden], isStacked, look, zone]);

  const go = (to: number | null) => {
    setByKey(to);
    setAt(to);
  };
  const pressed = (event: KeyboardEvent) => {
    const last = times.length - 1;
    const from = at ?? last;
    const by = event.shiftKey ? FAR : 1;
    const to = { ArrowLeft: Math.max(0, from - by), ArrowRight: Math.min(last, from + by), Home: 0, End: last, Escape: null }[event.key];
    if (to === undefined) return;
    go(to);
    event.preventDefault();
    event.stopPropagation();
  };
  const toggle = (id: string) => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    setHidden(next);
  };
  const moment = at === null ? undefined : times[at];
  const value = ({ points }: Line): string => {
    const point = moment === undefined ? newest([...points]) : points[at ?? 0];
    return point === null || point === undefined ? "–" : shown(point);
  };
  return (
    <figure className="plot" aria-label={label}>
      <div className="plot-legend" role="group" aria-label={t.legend}>
        {lines.map((line) => (
          <button key={line.id} type="button" className="plot-key" aria-pressed={!hidden.has(line.id)} title={hidden.has(line.id) ? t.show(line.name) : t.hide(line.name)} onClick={() => toggle(line.id)}>
            <span className={`plot-swatch${line.dashed ? " dashed" : ""}`} style={{ "--tone": `var(--${line.tone})` } as React.CSSProperties} aria-hidden="true" />
            <span>{line.name}</span>
            <span className="figure plot-value">{value(line)}</span>
          </button>
        ))}
        <span className="faint figure" aria-live="polite">{moment === undefined ? t.newest : clock(new Date(moment).toISOString())}</span>
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions -- a plot whose cursor keys move is an application */}
      <div className="plot-place" role="application" tabIndex={0} aria-label={t.plotKeys(label)} aria-roledescription={t.plot} onKeyDown={pressed} onBlur={() => go(null)}>
        <Drawn key={shape} wanted={wanted} to={byKey} onMove={setAt} />
      </div>
      <Table label={label} times={times} lines={lines} shown={shown} />
    </figure>
  );
}

interface DrawnProps {
  wanted: Wanted;
  /** Where keys have moved the cursor. */
  to: number | null;
  onMove: (at: number | null) => void;
}

function Drawn({ wanted, to, onMove }: DrawnProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const now = useRef(wanted);
  useEffect(() => {
    now.current = wanted;
    plot.current?.setData(dataOf(wanted));
  }, [wanted]);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const made = new UPlot(optionsOf(now.current, coloursOf(box), widthOf(box), onMove), dataOf(now.current), box);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: widthOf(box), height: made.height }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      plot.current = undefined;
      made.destroy();
    };
  }, [onMove]);
  useEffect(() => {
    const moment = to === null ? undefined : now.current.times[to];
    plot.current?.setCursor(moment === undefined ? { left: -10, top: -10 } : { left: plot.current.valToPos(moment / 1_000, "x"), top: 0 });
  }, [to]);
  return <div ref={place} />;
}

/** A plot that is not shown yet has no width. */
const widthOf = (box: HTMLElement): number => Math.max(200, box.clientWidth);

function Table({ label, times, lines, shown }: Pick<PlotProps, "label" | "times" | "lines" | "shown">) {
  const [open, setOpen] = useState(false);
  return (
    <details className="bars-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.figures}</summary>
      {open ? (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what is wider than the page is scrolled by keys as well
        <div className="plot-scroll" tabIndex={0} role="region" aria-label={label}>
          <table className="figures-table plot-table" aria-label={label}>
            <thead>
              <tr>
                <th scope="col">{t.time}</th>
                {lines.map(({ id, name }) => (
                  <th key={id} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {means(times, lines, SPANS).map(({ at, values }) => (
                <tr key={at}>
                  <th scope="row" className="figure">{clock(new Date(at).toISOString())}</th>
                  {values.map((value, column) => (
                    <td key={lines[column]?.id} className="number">{value === null ? "–" : shown(value)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </details>
  );
}
