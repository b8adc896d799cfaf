// Tokens that go on are seen going, along the flow that they take: in a replay, and while an instance is run on the board. Not where
// somebody wants less motion.
import { useEffect, useRef } from "react";
import type { Mark } from "./marks";
import type { Item, Parts } from "./viewer";

type Marks = ReadonlyMap<string, Mark>;
type Drawn = Pick<Parts, "canvas" | "registry">;

const SVG = "http://www.w3.org/2000/svg";
/** Milliseconds along one flow. */
const LASTS = 220;
/** Flows one after the other, as through gateways; all of it takes less than a step of a replay. */
const HOPS = 2;
/** More at a time are no tokens that one follows. */
const MOST = 24;

const ended = (mark: Mark | undefined): number => mark?.completed ?? 0;
const begun = (mark: Mark | undefined): number => (mark ? mark.active + mark.incidents + mark.completed + mark.canceled : 0);

/** The flows that tokens took between two pictures: one end was left, and the other one was reached. */
export function wentAlong(all: readonly Item[], before: Marks, after: Marks): Item[] {
  const isMore = (of: (mark: Mark | undefined) => number, { id }: Item) => of(after.get(id)) > of(before.get(id));
  return all.filter(({ type, source, target }) => type === "bpmn:SequenceFlow" && source && target && isMore(ended, source) && isMore(begun, target));
}

/** How many of the flows were taken before this one. */
export function hopOf(flow: Item, flows: readonly Item[], left = HOPS): number {
  const before = left === 0 ? [] : flows.filter(({ target }) => target === flow.source);
  return before.length === 0 ? 0 : 1 + Math.max(...before.map((each) => hopOf(each, flows, left - 1)));
}

/** With the same speed from one end to the other, however many bends there are. */
export function framesOf(points: readonly { x: number; y: number }[]): Keyframe[] {
  let length = 0;
  const at = points.map((point, index) => (length += index === 0 ? 0 : Math.hypot(point.x - (points[index - 1]?.x ?? 0), point.y - (points[index - 1]?.y ?? 0))));
  return points.map(({ x, y }, index) => ({ transform: `translate(${x}px, ${y}px)`, opacity: 1, offset: length === 0 ? index / Math.max(1, points.length - 1) : (at[index] ?? 0) / length }));
}

function glide({ canvas, registry }: Drawn, before: Marks, after: Marks): (() => void) | undefined {
  const flows = wentAlong(registry.getAll(), before, after);
  if (flows.length === 0 || flows.length > MOST || matchMedia("(prefers-reduced-motion: reduce)").matches) return undefined;
  const layer = canvas.getLayer("skep-tokens", 6);
  const tokens = flows.map((flow) => {
    const token = document.createElementNS(SVG, "circle");
    token.setAttribute("r", "6");
    token.setAttribute("class", "token");
    layer.append(token);
    const going = token.animate(framesOf(flow.waypoints ?? []), { duration: LASTS, delay: LASTS * hopOf(flow, flows), easing: "ease-in-out" });
    going.onfinish = () => token.remove();
    return token;
  });
  return () => {
    for (const token of tokens) token.remove();
  };
}

/** Shows what went on since the marks before these. */
export function useGlide(drawn: Drawn | undefined, marks: Marks, on: boolean) {
  const seen = useRef(marks);
  useEffect(() => {
    const before = seen.current;
    seen.current = marks;
    return drawn && on && before.size > 0 ? glide(drawn, before, marks) : undefined;
  }, [drawn, marks, on]);
}
