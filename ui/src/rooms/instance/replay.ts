// An instance at an earlier moment: from when its elements began and ended to where its tokens stood.
import type { Steps } from "../../api/past";
import type { Mark } from "../../parts/diagram";

/** All moments at which something began or ended, in order, in milliseconds. */
export function momentsOf(windows: readonly Steps[]): Float64Array {
  const all = new Float64Array(windows.reduce((sum, { start }) => sum + 2 * start.length, 0));
  let count = 0;
  for (const { start, end } of windows) {
    for (const times of [start, end]) {
      for (const time of times) {
        if (time !== Number.POSITIVE_INFINITY) all[count++] = time;
      }
    }
  }
  const found = all.slice(0, count).toSorted();
  let last = 0;
  for (const time of found) {
    if (last === 0 || time !== found[last - 1]) found[last++] = time;
  }
  return found.slice(0, last);
}

/** The last moment that is not after a time; the first one before all of them. */
export function indexAt(moments: Float64Array, time: number): number {
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((moments[middle] ?? 0) <= time) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

function add(marks: Map<string, Mark>, elements: readonly string[], counts: Uint32Array) {
  for (const [at, element] of elements.entries()) {
    const [active = 0, completed = 0, canceled = 0] = counts.subarray(3 * at);
    if (active + completed + canceled === 0) continue;
    const mark = marks.get(element) ?? { active: 0, incidents: 0, completed: 0, canceled: 0 };
    marks.set(element, { ...mark, active: mark.active + active, completed: mark.completed + completed, canceled: mark.canceled + canceled });
  }
}

export function marksAt(windows: readonly Steps[], time: number): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const { elements, of, start, end, cancelled } of windows) {
    const counts = new Uint32Array(3 * elements.length);
    for (let at = 0; at < of.length && (start[at] ?? 0) <= time; at += 1) {
      const became = (end[at] ?? 0) > time ? 0 : cancelled[at] === 1 ? 2 : 1;
      const place = 3 * (of[at] ?? 0) + became;
      counts[place] = (counts[place] ?? 0) + 1;
    }
    add(marks, elements, counts);
  }
  return marks;
}
