// Where the parts of a requirements diagram stand: what is asked below what asks it, right below it where that can be, so that
// one reads upwards to the result.
import type { Model, Node } from "./model";

export interface Placed extends Node {
  x: number;
  y: number;
}

export interface Drawn {
  nodes: Placed[];
  lines: { id: string; from: Placed; to: Placed }[];
  width: number;
  height: number;
}

export const WIDTH = 176;
export const HEIGHT = 52;
const GAP = { x: 32, y: 56 };

/** How many steps lie between a node and the result that it serves; a circle, which no server takes, ends the count. */
function rankOf(askers: ReadonlyMap<string, string[]>, id: string, path: readonly string[] = []): number {
  const above = (askers.get(id) ?? []).filter((each) => !path.includes(each) && each !== id);
  return above.length === 0 ? 0 : 1 + Math.max(...above.map((each) => rankOf(askers, each, [...path, id])));
}

export function layout(model: Model): Drawn {
  const askers = new Map<string, string[]>();
  for (const node of model.nodes) for (const id of node.needs) askers.set(id, [...(askers.get(id) ?? []), node.id]);
  const ranked = new Map<number, Node[]>();
  for (const node of model.nodes) {
    const rank = rankOf(askers, node.id);
    ranked.set(rank, [...(ranked.get(rank) ?? []), node]);
  }
  // Where all are in a circle no row is the first one: rows count from the lowest rank there is.
  const rows = [...ranked].toSorted(([a], [b]) => a - b).map(([, nodes]) => nodes);
  const widest = Math.max(...rows.map((row) => row.length));
  const width = widest * WIDTH + (widest - 1) * GAP.x;
  const nodes = rows.flatMap((row, rank) => {
    const begin = (width - row.length * WIDTH - (row.length - 1) * GAP.x) / 2;
    return row.map((node, at) => ({ ...node, x: begin + at * (WIDTH + GAP.x), y: rank * (HEIGHT + GAP.y) }));
  });
  const placed = new Map(nodes.map((each) => [each.id, each]));
  const lines = nodes.flatMap((to) =>
    to.needs.flatMap((id) => {
      const from = placed.get(id);
      return from ? [{ id: `${id} ${to.id}`, from, to }] : [];
    }),
  );
  return { nodes, lines, width, height: rows.length * HEIGHT + (rows.length - 1) * GAP.y };
}
