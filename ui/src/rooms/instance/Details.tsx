// Data and troubles of what is looked at.
import { useQuery } from "@tanstack/react-query";
import { TabList, TabPanel, Tabs } from "react-aria-components";
import { ofInstance } from "../../api/incidents";
import { type Instance, jobsOf, messagesOf } from "../../api/instances";
import { TabItem } from "../../parts/TabItem";
import { text } from "../../text";
import { compact } from "../../text/format";
import { AuditTab } from "./AuditTab";
import { FeedTab } from "./history/FeedTab";
import { IncidentTab } from "./IncidentTab";
import { JobTab } from "./JobTab";
import { MappingTab } from "./MappingTab";
import { MessageTab } from "./MessageTab";
import { TABS, type Tab } from "./search";
import { useScope } from "./scope";
import { VariableTab } from "./VariableTab";
import "../../parts/tabs.css";

const t = text.instance;

export function Details({ instance }: { instance: Instance }) {
  const { tab, after, chooseTab } = useScope();
  const key = instance.processInstanceKey;
  const incidents = useQuery(ofInstance(key));
  const from = (list: Tab) => (tab === list ? after : undefined);
  const jobs = useQuery(jobsOf(key, from("jobs")));
  const messages = useQuery(messagesOf(key, from("messages")));
  const open = incidents.data?.items.filter((each) => each.state === "ACTIVE" || each.state === "PENDING").length ?? 0;
  const counts = { variables: 0, incidents: open, jobs: jobs.data?.page.totalItems ?? 0, messages: messages.data?.page.totalItems ?? 0, mappings: 0, feed: 0, audit: 0 };
  return (
    <Tabs className="details" selectedKey={tab} onSelectionChange={(id) => chooseTab(TABS.find((each) => each === id) ?? "variables")}>
      <TabList className="tabs" aria-label={t.details}>
        {TABS.map((each) => (
          <TabItem key={each} id={each}>
            {t[each]}
            {counts[each] > 0 ? <span className={`tab-count figure${each === "incidents" ? " bad" : ""}`}>{compact(counts[each])}</span> : null}
          </TabItem>
        ))}
      </TabList>
      <TabPanel id="variables" className="tab-panel">
        <VariableTab instance={instance} />
      </TabPanel>
      <TabPanel id="incidents" className="tab-panel">
        <IncidentTab instance={instance} />
      </TabPanel>
      <TabPanel id="jobs" className="tab-panel">
        <JobTab query={jobs} />
      </TabPanel>
      <TabPanel id="messages" className="tab-panel">
        <MessageTab query={messages} />
      </TabPanel>
      <TabPanel id="mappings" className="tab-panel">
        <MappingTab instance={instance} />
      </TabPanel>
      <TabPanel key={after ?? ""} id="feed" className="tab-panel">
        <FeedTab instance={instance} />
      </TabPanel>
      <TabPanel id="audit" className="tab-panel">
        <AuditTab instance={instance} />
      </TabPanel>
    </Tabs>
  );
}
