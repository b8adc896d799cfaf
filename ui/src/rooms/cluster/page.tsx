// The cluster: its nodes and partitions, and what operators look after: exporters, changes, backups, settings.
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy } from "react";
import { TabList, TabPanel, Tabs } from "react-aria-components";
import { PageTitle } from "../../parts/PageTitle";
import { Skeleton } from "../../parts/Shown";
import { TabItem } from "../../parts/TabItem";
import { cluster as t } from "../../text/cluster";
import { Nodes } from "./Nodes";
import { TABS } from "./search";
import "../../parts/tabs.css";
import "./cluster.css";

const route = getRouteApi("/cluster");
const Exporters = lazy(() => import("./exporters/Exporters"));
const Changes = lazy(() => import("./changes/Changes"));
const Backups = lazy(() => import("./backups/Backups"));
const Settings = lazy(() => import("./settings/Settings"));

export function Cluster() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const tab = TABS.find((each) => each === search.tab) ?? "nodes";
  return (
    <>
      <PageTitle title={t.title} />
      <Tabs className="cluster" selectedKey={tab} onSelectionChange={(to) => void navigate({ search: { tab: to === "nodes" ? undefined : String(to) } })}>
        <TabList className="tabs" aria-label={t.parts}>
          {TABS.map((each) => (
            <TabItem key={each} id={each}>
              {t.tabs[each]}
            </TabItem>
          ))}
        </TabList>
        <TabPanel id={tab} className="tab-panel">
          <Suspense fallback={<Skeleton rows={6} />}>
            {tab === "nodes" ? <Nodes /> : null}
            {tab === "exporters" ? <Exporters /> : null}
            {tab === "changes" ? <Changes /> : null}
            {tab === "backups" ? <Backups /> : null}
            {tab === "settings" ? <Settings search={search} narrow={(next) => void navigate({ search: { ...search, ...next }, replace: true })} /> : null}
          </Suspense>
        </TabPanel>
      </Tabs>
    </>
  );
}
