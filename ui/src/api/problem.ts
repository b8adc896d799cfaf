// What the server answers when it does not do what was asked (RFC 9457), and what a browser meets before it gets there.

import { type Lack, lackIn } from "./permission";

export class Problem extends Error {
  override name = "Problem";
  constructor(
    /** Of HTTP; 0 when no answer came. */
    readonly status: number,
    /** By which problems of one status are told apart, INVALID_STATE for instance. */
    readonly title: string,
    readonly detail: string,
  ) {
    super(`${title}: ${detail}`);
  }

  /** Nothing was asked for that is there. */
  get isGone(): boolean {
    return this.status === 404;
  }

  /** Searching is switched off on this server. */
  get isStorageOff(): boolean {
    return this.status === 403 && /secondary|storage/i.test(this.detail);
  }

  /** The permission that it takes, where it is refused for lack of one. */
  get lack(): Lack | undefined {
    return this.status === 403 ? lackIn(this.detail) : undefined;
  }

  /** No answer came to a command that may have been carried out all the same, or will be yet. */
  get isDoubtful(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }

  /** Asking once more may help by itself. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text().catch(() => "");
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && "detail" in body) {
      const title = "title" in body && typeof body.title === "string" ? body.title : answer.statusText;
      return new Problem(answer.status, title, String(body.detail));
    }
  } catch {
    // A proxy between us and the server speaks for itself.
  }
  // A page of it is no sentence.
  const said = /^\s*</.test(text) ? "" : text.slice(0, 300);
  return new Problem(answer.status, answer.statusText || `HTTP ${answer.status}`, said);
}
