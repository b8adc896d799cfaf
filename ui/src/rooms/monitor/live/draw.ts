// The plot itself, by uPlot: what is drawn, in the colours of the page.
import UPlot from "uplot";
import { clock } from "../../../text/format";
import { type Line, type Points, stacked } from "./lines";

export interface Wanted {
  times: readonly number[];
  lines: readonly Line[];
  hidden: ReadonlySet<string>;
  isStacked: boolean;
  /** Bytes: numbers beside the plot are powers of two. */
  isBinary: boolean;
  /** A value on the axis. */
  shown: (value: number) => string;
}

/** What canvases draw with: they know no variables of style sheets. */
export interface Colours {
  text: string;
  grid: string;
  of: (tone: string) => string;
}

/** Reads colours where the page has them, as they are now. */
export function coloursOf(place: HTMLElement): Colours {
  const probe = document.createElement("span");
  probe.hidden = true;
  place.append(probe);
  const of = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const known = new Map(["ink3", "line", "active", "incident", "waiting", "ended", "moved", ...Array.from({ length: 9 }, (_, at) => `plot-${at + 1}`)].map((name) => [name, of(name)]));
  probe.remove();
  const colour = (name: string): string => known.get(name) ?? "gray";
  return { text: colour("ink3"), grid: colour("line"), of: colour };
}

const HEIGHT = 200;
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);
const LEAST_SPAN = 60;
/** Numbers beside a plot have room for "1,200 MiB". */
const AXIS = 64;

/** With its first and last number as it is drawn: a flat line is no full one. */
const range = (_: UPlot, __: number | null, most: number | null): UPlot.Range.MinMax => [0, (most ?? 0) > 0 ? (most ?? 0) * 1.08 : 1];

export function dataOf({ times, lines, hidden, isStacked }: Wanted): UPlot.AlignedData {
  const points: Points[] = isStacked ? stacked(lines, hidden) : lines.map((line) => line.points);
  // The uppermost layer is drawn first, so that those below lie upon it.
  return [times.map((at) => at / 1_000), ...(isStacked ? points.toReversed() : points)];
}

/** How a plot is drawn that has these lines. */
export function optionsOf({ lines, hidden, isStacked, isBinary, shown }: Wanted, colours: Colours, width: number, moved: (at: number | null) => void): UPlot.Options {
  const ordered = isStacked ? lines.toReversed() : lines;
  const axis = { stroke: colours.text, font: "11px 'Inter Variable', system-ui, sans-serif", grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    padding: [8, 8, 0, 0],
    scales: { x: { time: true, range: (_, from, to) => (to - from < LEAST_SPAN ? [to - LEAST_SPAN, to] : [from, to]) }, y: { range } },
    axes: [
      { ...axis, size: 28, space: 70, values: (_, ticks) => ticks.map((tick) => clock(new Date(tick * 1_000).toISOString())) },
      { ...axis, size: AXIS, space: 40, incrs: isBinary ? POWERS : undefined, values: (_, ticks) => ticks.map((tick) => shown(tick)) },
    ],
    series: [
      {},
      ...ordered.map(({ id, tone, dashed }): UPlot.Series => ({
        show: !hidden.has(id),
        stroke: colours.of(tone),
        width: isStacked ? 1 : 1.75,
        dash: dashed ? [6, 4] : undefined,
        fill: isStacked ? colours.of(tone) : undefined,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => moved(cursor.idx ?? null)] },
  };
}

export { UPlot };
