// Sends a model to the server while it is drawn: what was drawn last, one request at a time, each with the revision before it.
import { type Keeper, isConflict } from "../../api/kept";
import { Problem } from "../../api/problem";
import { nameOf } from "./kinds";
import { dropUnsent, keepUnsent } from "./unsent";

/** `conflict`: it was changed or deleted elsewhere, and nothing is sent until somebody decides. */
export type Sent = { kind: "sent" } | { kind: "sending" } | { kind: "failed"; problem: Problem } | { kind: "conflict" };

/** Requests under way, also those of pages that are closed. */
const underWay = new Map<string, Promise<void>>();

/** Resolves when nothing of the model is being sent. */
export const settled = (id: string): Promise<void> => underWay.get(id) ?? Promise.resolve();

/** Milliseconds after the last change. */
const PAUSE = 800;
/** Milliseconds until what failed is tried again. */
const AGAIN = 5_000;

export class Sending {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latest: string | undefined;
  private busy = false;
  private stopped = false;

  private revision: string | null;
  private shared: boolean;
  /** What the server has at that revision; `undefined`: that is not known. */
  private base: string | undefined;

  constructor(
    private readonly keeper: Pick<Keeper, "get" | "put">,
    private readonly id: string,
    from: { revision: string | null; shared: boolean; base?: string },
    private readonly tell: (sent: Sent) => void,
  ) {
    ({ revision: this.revision, shared: this.shared, base: this.base } = from);
  }

  /** False where the browser has no room for it until it is sent. */
  change(xml: string): boolean {
    this.latest = xml;
    const safe = keepUnsent(this.id, xml, this.revision, this.shared);
    if (!this.stopped) {
      this.tell({ kind: "sending" });
      this.later(PAUSE);
    }
    return safe;
  }

  /** Sends what is left at once: the page goes. */
  end() {
    clearTimeout(this.timer);
    if (!this.stopped) this.send();
    this.stopped = true;
  }

  private later(pause: number) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), pause);
  }

  private send() {
    const xml = this.latest;
    if (xml === undefined || this.busy) return;
    this.busy = true;
    const sent = this.put(xml).finally(() => {
      this.busy = false;
      if (underWay.get(this.id) === sent) underWay.delete(this.id);
    });
    underWay.set(this.id, sent);
  }

  private async put(xml: string) {
    try {
      this.revision = await this.keeper.put("models", this.id, { title: (nameOf(xml) || this.id).slice(0, 200), shared: this.shared, body: { xml } }, this.revision);
      this.base = xml;
      const newer = this.latest === xml ? undefined : this.latest;
      this.latest = newer;
      if (newer === undefined) {
        dropUnsent(this.id);
        this.tell({ kind: "sent" });
      } else {
        keepUnsent(this.id, newer, this.revision, this.shared);
        if (!this.stopped) this.later(PAUSE);
      }
    } catch (error) {
      if (!isConflict(error) || !(await this.isShared())) return this.refused(error);
      keepUnsent(this.id, xml, this.revision, this.shared);
      this.later(PAUSE);
    }
  }

  /** Whether it was shared elsewhere meanwhile, or no more, and nothing else: then it goes on from there. */
  private async isShared(): Promise<boolean> {
    const there = await this.keeper.get("models", this.id).catch(() => undefined);
    if (there === undefined || this.base === undefined || there.body.xml !== this.base) return false;
    [this.revision, this.shared] = [there.revision, there.shared];
    return true;
  }

  private refused(error: unknown) {
    if (isConflict(error) || (error instanceof Problem && error.isGone)) {
      this.stopped = true;
      this.tell({ kind: "conflict" });
      return;
    }
    const problem = error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error));
    this.tell({ kind: "failed", problem });
    if (!this.stopped && problem.isPassing) this.later(AGAIN);
  }
}
