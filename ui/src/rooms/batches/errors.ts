// Errors of a batch operation, those of one kind together: messages that differ in a key alone say the same.

export interface ErrorKind {
  message: string;
  count: number;
}

/** Keys of the server have at least fifteen digits. */
const KEY = /\d{15,20}/g;

/** The most frequent first. */
export function grouped(messages: readonly string[]): ErrorKind[] {
  const found = new Map<string, { first: string; count: number }>();
  for (const message of messages) {
    const kind = message.replaceAll(KEY, "…");
    const known = found.get(kind);
    if (known === undefined) found.set(kind, { first: message, count: 1 });
    else known.count += 1;
  }
  // One alone is said in full.
  return [...found].map(([kind, { first, count }]) => ({ message: count === 1 ? first : kind, count })).toSorted((a, b) => b.count - a.count || a.message.localeCompare(b.message));
}
