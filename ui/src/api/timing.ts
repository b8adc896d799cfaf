// How long answers took, as this page saw it: the last few hundred of them.
const KEPT = 500;

export interface Answered {
  /** The operation, by its method and its path. */
  name: string;
  /** Milliseconds from the request to the beginning of its answer. */
  ms: number;
  failed: boolean;
}

const answers: Answered[] = [];

export function note(answered: Answered) {
  answers.push(answered);
  if (answers.length > KEPT) answers.shift();
}

export interface Summary {
  name: string;
  count: number;
  failed: number;
  p50: number;
  p95: number;
}

/** The value below which a share of sorted ones lies. */
const quantile = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;

function summary(name: string, of: readonly Answered[]): Summary {
  const sorted = of.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return { name, count: of.length, failed: of.filter(({ failed }) => failed).length, p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}

/** All together, and each operation, the slowest first. */
export function summaries(of: readonly Answered[] = answers): { all: Summary; each: Summary[] } {
  const byName = new Map<string, Answered[]>();
  for (const one of of) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  return { all: summary("", of), each: [...byName].map(([name, found]) => summary(name, found)).toSorted((a, b) => b.p95 - a.p95 || a.name.localeCompare(b.name)) };
}
