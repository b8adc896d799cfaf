// An instance at an earlier moment: from when its elements began and ended to where its tokens stood.
import type { ElementInstance } from "../../api/instances";
import type { Mark } from "../../parts/diagram";

type Life = Pick<ElementInstance, "elementId" | "startDate" | "endDate" | "state">;

/** All moments at which something began or ended, in order, in milliseconds. */
export function momentsOf(lives: readonly Life[]): number[] {
  const found = new Set<number>();
  for (const { startDate, endDate } of lives) {
    found.add(Date.parse(startDate));
    if (endDate) found.add(Date.parse(endDate));
  }
  return [...found].toSorted((a, b) => a - b);
}

/** The last moment that is not after a time; the first one before all of them. */
export const indexAt = (moments: readonly number[], time: number): number => Math.max(0, moments.findLastIndex((moment) => moment <= time));

export function marksAt(lives: readonly Life[], time: number): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const { elementId, startDate, endDate, state } of lives) {
    if (Date.parse(startDate) > time) continue;
    const mark = marks.get(elementId) ?? { active: 0, incidents: 0, completed: 0, canceled: 0 };
    marks.set(elementId, mark);
    if (!endDate || Date.parse(endDate) > time) mark.active += 1;
    else if (state === "TERMINATED") mark.canceled += 1;
    else mark.completed += 1;
  }
  return marks;
}
