// Home: is all well, and if not, what goes wrong and where.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Lock, SquareCheckBig } from "lucide-react";
import { byError } from "../../api/incidents";
import { kept } from "../../api/live";
import { latest, loads } from "../../api/processes";
import { openTasks } from "../../api/tasks";
import { isHere } from "../../api/tenant";
import { topology } from "../../api/topology";
import { useMayEnter } from "../../app/session/rights";
import { Figure } from "../../parts/Figure";
import { Failure, Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { text } from "../../text";
import { atLeast, number } from "../../text/format";
import { Errors } from "./Errors";
import { Late } from "./Late";
import { MyTasks, useMine } from "./MyTasks";
import { ProcessList } from "./ProcessList";
import { Welcome } from "./Welcome";
import "./home.css";

const t = text.home;

export function Home() {
  return (
    <>
      <PageTitle title={t.title} />
      <Figures />
      {useMayEnter("operate") ? <Processes /> : <OnlyTasks />}
    </>
  );
}

function Processes() {
  const load = useQuery({ ...loads(), ...kept });
  const definitions = useQuery(latest());
  const errors = useQuery({ ...byError(6), ...kept });
  const none = definitions.data?.items.length === 0 && load.data?.items.filter(isHere).length === 0;
  if (load.error?.isStorageOff) return <Failure problem={load.error} />;
  if (none) {
    return (
      <>
        <MyTasks />
        <Welcome />
      </>
    );
  }
  return (
    <div className="home-columns">
      <ProcessList definitions={definitions} load={load} />
      <div className="home-troubles">
        <Errors query={errors} />
        <Late />
        <MyTasks />
      </div>
    </div>
  );
}

/** For those who do not look at processes: the way to what they do, or what it takes. */
function OnlyTasks() {
  const does = useMayEnter("tasklist");
  if (!does) {
    return (
      <Note icon={<Lock size={20} strokeWidth={1.75} />} title={t.closed}>
        {t.closedText}
      </Note>
    );
  }
  return (
    <>
      <MyTasks />
      <Note
        icon={<SquareCheckBig size={20} strokeWidth={1.75} />}
        title={t.onlyTasks}
        actions={
          <>
            <Link to="/tasks" search={{ view: "mine" }} className="button main">
              {t.toMine}
            </Link>
            <Link to="/tasks" className="button">
              {t.toAll}
            </Link>
          </>
        }
      >
        {t.onlyTasksText}
      </Note>
    </>
  );
}

function Figures() {
  const [sees, does] = [useMayEnter("operate"), useMayEnter("tasklist")];
  const load = useQuery({ ...loads(), enabled: sees });
  const tasks = useQuery({ ...openTasks(), enabled: does });
  const mine = useMine();
  const nodes = useQuery(topology());
  const items = (load.data?.items ?? []).filter(isHere);
  const stuck = items.reduce((sum, each) => sum + each.activeInstancesWithIncidentCount, 0);
  const running = items.reduce((sum, each) => sum + each.activeInstancesWithoutIncidentCount, stuck);
  const partitions = nodes.data?.brokers.flatMap((broker) => broker.partitions) ?? [];
  const bad = partitions.filter((partition) => partition.health !== "healthy").length;
  return (
    <div className="figures">
      {sees ? (
        <>
          <Figure name={t.running} value={load.data && number(running)} hint={t.runningHint}>
            <Link to="/processes" search={{ state: "active,incident" }}>
              {t.running}
            </Link>
          </Figure>
          <Figure name={t.stuck} value={load.data && number(stuck)} hint={stuck > 0 ? t.stuckHint : t.stuckNone} tone={stuck > 0 ? "incident" : undefined}>
            <Link to="/incidents">{t.stuck}</Link>
          </Figure>
        </>
      ) : null}
      {does ? (
        <Figure name={t.tasks} value={tasks.data && atLeast(tasks.data.total, tasks.data.more)} hint={mine.data && mine.data.total > 0 ? t.tasksMine(atLeast(mine.data.total, mine.data.more)) : t.tasksHint}>
          <Link to="/tasks">{t.tasks}</Link>
        </Figure>
      ) : null}
      <Figure
        name={t.nodes}
        value={nodes.data && number(nodes.data.partitionsCount)}
        hint={bad > 0 ? t.nodesBad(bad) : t.nodesHint(nodes.data?.brokers.length ?? 1)}
        tone={bad > 0 ? "incident" : undefined}
      >
        <Link to="/cluster">{t.nodes}</Link>
      </Figure>
    </div>
  );
}
