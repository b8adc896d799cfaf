// What became of a command, said once: on the screen for a while, and to screen readers.
import { Check, Hourglass, TriangleAlert, X } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { text } from "../text";
import "./announce.css";

interface Notice {
  id: number;
  tone: "done" | "failed" | "going";
  title: string;
  body?: ReactNode;
}

const STAYS = 6_000;
let notices: readonly Notice[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Notice[]) {
  notices = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number) => set(notices.filter((notice) => notice.id !== id));

const icons = { done: Check, failed: TriangleAlert, going: Hourglass } as const;

/** What was done goes away by itself; what failed stays until somebody has read it, and what goes on until it has ended. Returns what takes it away. */
export function announce(tone: Notice["tone"], title: string, body?: ReactNode): () => void {
  last += 1;
  const id = last;
  set([...notices.slice(-3), { id, tone, title, body }]);
  if (tone === "done") setTimeout(() => dismiss(id), STAYS);
  return () => dismiss(id);
}

export const forgetNotices = () => set([]);

export function Announcements() {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => notices,
  );
  return (
    <div className="announcements" role="status" aria-live="polite">
      {all.map((notice) => (
        <Shown key={notice.id} notice={notice} />
      ))}
    </div>
  );
}

function Shown({ notice: { id, tone, title, body } }: { notice: Notice }) {
  const Icon = icons[tone];
  return (
    <div className={`announcement ${tone}`}>
      <Icon size={16} aria-hidden="true" />
      <div className="grow">
        <p className="note-title">{title}</p>
        {body === undefined ? null : <div className="note-text">{body}</div>}
      </div>
      <button type="button" className="button quiet icon small" aria-label={text.words.close} onClick={() => dismiss(id)}>
        <X size={14} aria-hidden="true" />
      </button>
    </div>
  );
}
