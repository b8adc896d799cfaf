// Whether one may work on the task; and when somebody else did something with it while one was writing, who and what.
import { useState } from "react";
import type { Task } from "../../api/tasks";
import { Note } from "../../parts/Note";
import { text } from "../../text";

const t = text.tasks;

interface MeanwhileProps {
  task: Task;
  who: string;
  /** Something was written that was not sent. */
  written: boolean;
  discard: () => void;
}

export function Meanwhile({ task, who, written, discard }: MeanwhileProps) {
  const had = useHad(task, who);
  const button = (
    <button type="button" className="button small" onClick={discard}>
      {t.discard}
    </button>
  );
  if (task.state === "COMPLETED" || task.state === "CANCELED") {
    if (!written) return null;
    return (
      <div role="alert" className="meanwhile">
        <Note title={task.state === "COMPLETED" ? t.overTitle(task.assignee) : t.cancelledTitle} actions={button} small>
          {t.overText}
        </Note>
      </div>
    );
  }
  if (task.state !== "CREATED") return <p className="desk-warning">{t.busy}</p>;
  if (task.assignee === who && who !== "") return null;
  if (had || written) {
    return (
      <div role="alert" className="meanwhile">
        <Note title={task.assignee === null ? t.givenBack : t.takenTitle(task.assignee)} actions={written ? button : undefined} small>
          {task.assignee === null ? t.givenBackText : t.takenText}
        </Note>
      </div>
    );
  }
  return <p className="desk-hint">{task.assignee === null ? t.readFirst : t.others(task.assignee)}</p>;
}

/** Whether the task was one's own since it is looked at, and is no more by somebody else's hand. */
function useHad(task: Task, who: string): boolean {
  const mine = who !== "" && task.assignee === who;
  const [seen, see] = useState({ mine, had: false });
  if (seen.mine === mine) return seen.had;
  const had = !mine && task.assignee !== null;
  see({ mine, had });
  return had;
}
