// One decision: what it came to, its model in a version, and a try.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { TabList, TabPanel, Tabs } from "react-aria-components";
import { type Decision, decisionVersions, deployedVersion } from "../../api/decisions";
import { Deleted } from "../../parts/Deleted";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { TabItem } from "../../parts/TabItem";
import { text } from "../../text";
import { Evaluations } from "./Evaluations";
import { Requirements } from "./Requirements";
import { WithModel } from "./WithModel";
import { type DecisionSearch, TABS } from "./search";
import { LogicView } from "./TableView";
import { Try } from "./Try";

const route = getRouteApi("/decisions");
const t = text.decisions;

export default function OneDecision({ id, search }: { id: string; search: DecisionSearch }) {
  const navigate = route.useNavigate();
  const versions = useQuery(decisionVersions(id));
  const deployed = useQuery(deployedVersion(id)).data;
  const isGone = ({ version }: Decision) => deployed !== undefined && version > deployed;
  const tab = TABS.find((each) => each === search.tab) ?? "evaluations";
  return (
    <section className="list" aria-label={id}>
      <Shown query={versions} rows={4}>
        {({ items }) => {
          const chosen = items.find((each) => String(each.version) === search.version);
          const shown = chosen ?? items.find((each) => !isGone(each)) ?? items[0];
          if (!shown) return <Note title={t.noMatch} />;
          return (
            <>
              <header className="side-head decision-head">
                <h2 className="clip" title={id}>
                  {shown.name}
                </h2>
                <select className="field" aria-label={t.version} value={chosen ? String(chosen.version) : ""} onChange={(event) => void navigate({ search: { ...search, version: event.target.value || undefined, after: undefined }, replace: true })}>
                  <option value="">{t.versionAll}</option>
                  {items.map((each) => (
                    <option key={each.version} value={String(each.version)}>
                      {isGone(each) ? text.deleted.mark(t.versionOf(each.version)) : t.versionOf(each.version)}
                    </option>
                  ))}
                </select>
                {isGone(shown) ? <Deleted of="decision" /> : null}
                <span className="faint clip">{`${t.requirements} ${shown.decisionRequirementsName}`}</span>
                <span className="mono faint clip">{shown.decisionDefinitionId}</span>
              </header>
              <Tabs className="decision-tabs" selectedKey={tab} onSelectionChange={(to) => void navigate({ search: { ...search, tab: to === "evaluations" ? undefined : String(to) }, replace: true })}>
                <TabList className="tabs" aria-label={t.details}>
                  {TABS.map((each) => (
                    <TabItem key={each} id={each}>
                      {t.tabs[each]}
                    </TabItem>
                  ))}
                </TabList>
                <TabPanel id="evaluations" className="tab-panel list">
                  <Evaluations search={search} filter={chosen ? { decisionDefinitionKey: chosen.decisionDefinitionKey } : { decisionDefinitionId: id }} />
                </TabPanel>
                <TabPanel id="table" className="tab-panel">
                  <WithModel of={shown.decisionDefinitionKey}>
                    {(model) => (
                      <>
                        <LogicView logic={model.logic.get(id)} />
                        <Requirements model={model} decision={id} name={shown.decisionRequirementsName} of={chosen?.decisionDefinitionKey} />
                      </>
                    )}
                  </WithModel>
                </TabPanel>
                <TabPanel id="try" className="tab-panel">
                  {isGone(shown) ? (
                    <Note title={text.deleted.noTry}>{text.deleted.noTryText}</Note>
                  ) : (
                    <WithModel of={shown.decisionDefinitionKey} stays>
                      {(model) => <Try key={search.version} decision={shown} model={model} given={search.with} />}
                    </WithModel>
                  )}
                </TabPanel>
              </Tabs>
            </>
          );
        }}
      </Shown>
    </section>
  );
}
