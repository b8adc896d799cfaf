// One task: what it is, whose it is, the work itself, where in its process it stands, and who did what with it.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { TabList, TabPanel, Tabs } from "react-aria-components";
import { instanceCounts } from "../../api/instances";
import type { TaskKey } from "../../api/keys";
import type { Task } from "../../api/tasks";
import { xml } from "../../api/xml";
import { NoModel } from "../../parts/Deleted";
import { Diagram, type Mark } from "../../parts/diagram";
import { Shown } from "../../parts/Shown";
import { TabItem } from "../../parts/TabItem";
import { text } from "../../text";
import { Head } from "./Head";
import { Past } from "./Past";
import { Work } from "./Work";

const route = getRouteApi("/tasks");
const t = text.tasks;
const TABS = ["work", "process", "history"] as const;
const NOTHING: ReadonlyMap<string, Mark> = new Map();

export function Pane({ task, next }: { task: Task; next: TaskKey | undefined }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const tab = TABS.find((each) => each === search.tab) ?? "work";
  return (
    <>
      <Head task={task} />
      <Tabs className="task-tabs" selectedKey={tab} onSelectionChange={(id) => void navigate({ search: { ...search, tab: id === "work" ? undefined : String(id) }, replace: true })}>
        <TabList className="tabs" aria-label={t.details}>
          {TABS.map((each) => (
            <TabItem key={each} id={each}>
              {t.tabs[each]}
            </TabItem>
          ))}
        </TabList>
        {/* What somebody is writing stays while he looks at the process. */}
        <TabPanel id="work" className="tab-panel task-work" shouldForceMount>
          <Work task={task} next={next} />
        </TabPanel>
        <TabPanel id="process" className="tab-panel">
          <Process task={task} />
        </TabPanel>
        <TabPanel id="history" className="tab-panel">
          <Past task={task} />
        </TabPanel>
      </Tabs>
    </>
  );
}

function Process({ task }: { task: Task }) {
  const atWork = task.completionDate === null;
  const model = useQuery(xml(task.processDefinitionKey));
  const count = useQuery(instanceCounts(task.processInstanceKey, atWork));
  const marks = useMemo(() => (count.data ? new Map(count.data.items.map((each) => [each.elementId, each])) : NOTHING), [count.data]);
  return (
    <div className="drawing task-drawing">
      <Shown query={model} gone={<NoModel />}>
        {(source) => <Diagram xml={source} label={`${text.processes.diagram}: ${task.processName ?? task.processDefinitionId}`} marks={marks} withEnded selected={task.elementId} onSelect={() => undefined} />}
      </Shown>
    </div>
  );
}
