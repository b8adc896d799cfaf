// What the pulses of a server have said so far: when each kind of rows was last seen to have changed.
//
// A change counts from the moment at which one heard of it. What was asked for later holds it; what was asked for earlier may, and is
// asked for again.

interface Known {
  version: string;
  /** When this version was first heard. */
  since: number;
}

export class Moves {
  private readonly kinds = new Map<string, Known>();
  private heard: number | undefined;

  /** A pulse; `at` is when it came. */
  take(versions: Readonly<Record<string, string>>, at: number) {
    this.heard = at;
    for (const [kind, version] of Object.entries(versions)) {
      if (this.kinds.get(kind)?.version !== version) this.kinds.set(kind, { version, since: at });
    }
    for (const kind of this.kinds.keys()) if (!(kind in versions)) this.kinds.delete(kind);
  }

  /** Nothing has changed since the last pulse. */
  same(at: number) {
    this.heard = at;
  }

  /** There was no answer: until there is one nobody knows what changes. */
  lose() {
    this.heard = undefined;
  }

  /** Whether the server says what changes. */
  get works(): boolean {
    return this.heard !== undefined;
  }

  /** Whether an answer that was true at a moment may no longer be. */
  since(kinds: readonly string[], moment: number): boolean {
    return kinds.some((kind) => {
      const known = this.kinds.get(kind);
      return known === undefined || known.since >= moment;
    });
  }
}
