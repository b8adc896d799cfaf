// What a task is, whose it is, and whose it becomes.
import { Link, getRouteApi } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useState } from "react";
import { rightsOnTask } from "../../api/rights";
import { type Task, assignTask, unassignTask } from "../../api/tasks";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";
import { MayButton } from "../../parts/MayButton";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { AskName, AskWho, useGroups } from "./who";

const route = getRouteApi("/tasks");
const t = text.tasks;

export function Head({ task }: { task: Task }) {
  const search = route.useSearch();
  const who = useWho();
  const candidates = [...task.candidateUsers, ...task.candidateGroups.map(t.group)];
  return (
    <header className="task-head">
      <Link to="/tasks" search={{ ...search, task: undefined, tab: undefined }} className="task-back row">
        <ChevronLeft size={14} aria-hidden="true" />
        {t.back}
      </Link>
      <div className="row wrap">
        <h2 className="task-title">{task.name ?? task.elementId}</h2>
        <State name={task.state} />
        <span className="grow" />
        {task.state === "CREATED" ? <Whose task={task} who={who} /> : null}
      </div>
      <dl className="task-facts">
        <Fact name={t.assignee}>{task.assignee === null ? t.nobody : task.assignee === who ? t.you(who) : task.assignee}</Fact>
        {candidates.length > 0 ? <Fact name={t.candidates}>{candidates.join(", ")}</Fact> : null}
        {task.dueDate === null ? null : (
          <Fact name={t.due}>
            <Time at={task.dueDate} />
          </Fact>
        )}
        {task.followUpDate === null ? null : (
          <Fact name={t.followUp}>
            <Time at={task.followUpDate} />
          </Fact>
        )}
        <Fact name={t.priority}>{task.priority}</Fact>
        <Fact name={t.created}>
          <Time at={task.creationDate} />
        </Fact>
        {task.completionDate === null ? null : (
          <Fact name={t.completed}>
            <Time at={task.completionDate} />
          </Fact>
        )}
        <Fact name={t.process}>
          <Link to="/processes/i/$key" params={{ key: task.processInstanceKey }} search={{ scope: task.elementInstanceKey }}>
            {task.processName ?? task.processDefinitionId}
          </Link>
        </Fact>
        {task.businessId === null ? null : <Fact name={text.instance.business}>{task.businessId}</Fact>}
        {task.tags.length > 0 ? <Fact name={text.instance.tags}>{task.tags.join(", ")}</Fact> : null}
        <Fact name={t.key}>
          <span className="mono">{task.userTaskKey}</span>
        </Fact>
      </dl>
    </header>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="clip">{children}</dd>
    </div>
  );
}

function Whose({ task, who }: { task: Task; who: string }) {
  const [asking, ask] = useState<"who" | "assign">();
  const [busy, setBusy] = useState(false);
  const run = async (command: Promise<void>, said: string) => {
    setBusy(true);
    try {
      await command;
      announce("done", said);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  const claim = (name: string) => void run(assignTask(task.userTaskKey, name, task.assignee !== null), t.claimed);
  const mine = task.assignee !== null && task.assignee === who;
  const rights = rightsOnTask(task, who, useGroups());
  return (
    <>
      <MayButton needs={rights.assign} className="button small" disabled={busy} onClick={() => ask("assign")}>
        {t.assign}
      </MayButton>
      {task.assignee === null ? null : (
        <MayButton needs={rights.unclaim} className="button small" disabled={busy} onClick={() => void run(unassignTask(task.userTaskKey), t.unclaimed)}>
          {t.unclaim}
        </MayButton>
      )}
      {mine ? null : (
        <MayButton needs={rights.claim} className="button small main" disabled={busy} onClick={() => (who === "" ? ask("who") : claim(who))}>
          {task.assignee === null ? t.claim : t.takeOver}
        </MayButton>
      )}
      {asking === "who" ? <AskWho close={() => ask(undefined)} then={claim} /> : null}
      {asking === "assign" ? (
        <AskName
          title={t.assignTitle}
          hint=""
          label={t.assignName}
          button={t.assign}
          initial=""
          close={() => ask(undefined)}
          take={(name) => void run(assignTask(task.userTaskKey, name, true), t.assigned(name))}
        />
      ) : null}
    </>
  );
}
