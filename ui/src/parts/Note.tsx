// What stands where rows would: nothing there, and why; or what went wrong, and how to go on.
import { CircleSlash, CloudOff, Lock, SearchX, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "../api/problem";
import { meOf, useSession } from "../api/session";
import { text } from "../text";
import { Explained } from "./Explained";
import { lackText } from "./lack";
import "./note.css";

interface NoteProps {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  tone?: "plain" | "incident";
  /** Stands in a narrow place. */
  small?: boolean;
  /** Stands for rows of which a person may not see all. */
  limited?: boolean;
}

/** Why rows may be missing of which somebody else speaks. */
function Limited() {
  const me = meOf(useSession());
  return me === undefined || me.authorizedComponents.includes("*") ? null : <p className="note-text">{text.session.limited}</p>;
}

export function Note({ icon, title, children, actions, tone = "plain", small = false, limited = false }: NoteProps) {
  return (
    <div className={`note ${tone}${small ? " small" : ""}`} role={tone === "incident" ? "alert" : undefined}>
      <span className="note-icon" aria-hidden="true">
        {icon ?? (tone === "incident" ? <TriangleAlert size={20} strokeWidth={1.75} /> : <CircleSlash size={20} strokeWidth={1.75} />)}
      </span>
      <div className="note-body">
        <p className="note-title">{title}</p>
        {children === undefined ? null : <div className="note-text">{children}</div>}
        {limited ? <Limited /> : null}
        {actions === undefined ? null : <div className="note-actions">{actions}</div>}
      </div>
    </div>
  );
}

export const Filtered = ({ title, children, actions }: NoteProps) => (
  <Note icon={<SearchX size={20} strokeWidth={1.75} />} title={title} actions={actions} limited>
    {children}
  </Note>
);

/** A question that failed, in its own place: the rest of the screen goes on. */
export function Failure({ problem, retry, small = false }: { problem: Problem; retry?: () => void; small?: boolean }) {
  const words = text.words.failure;
  // A bug of a page may end here too: it is shown as what it is.
  if (!(problem instanceof Problem)) return <Note tone="incident" title={text.frame.broke} small={small}>{String(problem)}</Note>;
  if (problem.isStorageOff) {
    return (
      <Note icon={<CloudOff size={20} strokeWidth={1.75} />} title={words.off} small={small}>
        {words.offDetail}
      </Note>
    );
  }
  const { lack } = problem;
  if (lack) {
    return (
      <Note icon={<Lock size={20} strokeWidth={1.75} />} title={text.session.lackTitle} small={small}>
        {lackText(lack)}
      </Note>
    );
  }
  const noAnswer = problem.status === 0;
  const title = noAnswer ? words.NO_ANSWER : problem.status === 501 ? words.absent : text.words.kind(problem.title);
  return (
    <Note
      tone="incident"
      title={title}
      small={small}
      actions={
        <>
          {retry === undefined ? null : (
            <button type="button" className="button small" onClick={retry}>
              {text.words.retry}
            </button>
          )}
          <Explained of={problem.title} />
        </>
      }
    >
      {noAnswer ? words.NO_ANSWER_detail : problem.detail}
    </Note>
  );
}
