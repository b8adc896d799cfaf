// From step to step by arrows: along the flows to the right and the left, to what is nearest above and below.
import { type Item, type Registry, isStep } from "./viewer";

const middle = (item: Item) => ({ x: item.x + item.width / 2, y: item.y + item.height / 2 });

function nearest(from: Item, all: readonly Item[], ahead: (dx: number, dy: number) => boolean): Item | undefined {
  const here = middle(from);
  let best: { item: Item; far: number } | undefined;
  for (const item of all) {
    if (item === from) continue;
    const there = middle(item);
    const [dx, dy] = [there.x - here.x, there.y - here.y];
    if (!ahead(dx, dy)) continue;
    const far = dx * dx + dy * dy;
    if (!best || far < best.far) best = { item, far };
  }
  return best?.item;
}

/** The step that an arrow leads to; the first one where nothing is selected. */
export function step(registry: Registry, from: string | undefined, arrow: string): string | undefined {
  const steps = registry.getAll().filter((item) => isStep(item));
  const here = steps.find((item) => item.id === from);
  if (!here) return steps.toSorted((a, b) => a.x - b.x || a.y - b.y)[0]?.id;
  const along = arrow === "ArrowRight" ? here.outgoing?.[0]?.target : arrow === "ArrowLeft" ? here.incoming?.[0]?.source : undefined;
  if (along && isStep(along)) return along.id;
  const ways: Record<string, () => Item | undefined> = {
    ArrowRight: () => nearest(here, steps, (dx, dy) => dx > Math.abs(dy)),
    ArrowLeft: () => nearest(here, steps, (dx, dy) => -dx > Math.abs(dy)),
    ArrowDown: () => nearest(here, steps, (dx, dy) => dy > 0 && dy >= Math.abs(dx) / 2),
    ArrowUp: () => nearest(here, steps, (dx, dy) => dy < 0 && -dy >= Math.abs(dx) / 2),
  };
  return (ways[arrow]?.() ?? here).id;
}
