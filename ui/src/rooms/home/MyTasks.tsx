// What waits for who looks at it; nothing where nothing does.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Task, tasksOf } from "../../api/tasks";
import { useTenantShown } from "../../api/tenant";
import { useMayEnter } from "../../app/session/rights";
import { useNow } from "../../parts/now";
import { Panel } from "../../parts/Panel";
import { Time } from "../../parts/Time";
import { useWho } from "../../parts/who";
import { text } from "../../text";
import { atLeast } from "../../text/format";

const t = text.home;

/** Tasks of who looks at it, if they do tasks. */
export function useMine() {
  const [does, who] = [useMayEnter("tasklist"), useWho()];
  return useQuery({ ...tasksOf(who), enabled: does && who !== "" });
}

export function MyTasks() {
  const mine = useMine().data;
  if (!mine || mine.items.length === 0) return null;
  const more = mine.more || mine.total > mine.items.length;
  return (
    <Panel title={t.mine} actions={<Link to="/tasks" search={{ view: "mine" }}>{more ? t.mineAll(atLeast(mine.total, mine.more)) : t.mineOpen}</Link>}>
      <ul className="mine-list">
        {mine.items.map((each) => (
          <MyTask key={each.userTaskKey} task={each} />
        ))}
      </ul>
    </Panel>
  );
}

function MyTask({ task }: { task: Task }) {
  const now = useNow();
  const tenants = useTenantShown();
  const name = task.name ?? task.elementId;
  const process = task.processName ?? task.processDefinitionId;
  const late = task.dueDate !== null && Date.parse(task.dueDate) < now;
  return (
    <li>
      <Link to="/tasks" search={{ view: "mine", task: task.userTaskKey }} className="mine-row">
        <span className="process-name clip" title={name}>{name}</span>
        <span className={`mine-due figure ${late ? "bad" : "faint"}`} title={late ? text.tasks.overdue : undefined}>
          {task.dueDate === null ? null : (
            <>
              {`${text.tasks.due} `}
              <Time at={task.dueDate} />
            </>
          )}
        </span>
        <span className="mine-process faint clip">{tenants ? `${process} · ${task.tenantId}` : process}</span>
      </Link>
    </li>
  );
}
