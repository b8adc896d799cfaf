// An instance goes on by another model: which one, and which element becomes which. Both models are side by side.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type Instance, instanceCounts } from "../../../api/instances";
import { type DefinitionKey, asKey } from "../../../api/keys";
import { definition } from "../../../api/processes";
import { xml } from "../../../api/xml";
import { Note } from "../../../parts/Note";
import { Splitter } from "../../../parts/Splitter";
import { stepsOf } from "../../../parts/steps";
import { text } from "../../../text";
import { Changing } from "../Changing";
import { Confirm } from "./Confirm";
import { Drawings } from "./Drawings";
import { Mapping } from "./Mapping";
import { choicesOf, rowsOf, written } from "../../../parts/mapping";
import { Target, useTarget } from "./Target";

const route = getRouteApi("/processes/i/$key");
const t = text.change;

export default function Migrate({ instance }: { instance: Instance }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [asking, ask] = useState(false);
  const [shown, show] = useState<string>();
  const target = useTarget(instance);
  const to = target.chosen;
  const known = useQuery({ ...definition(to ?? asKey<DefinitionKey>("0")), enabled: to !== undefined });
  const now = useQuery(xml(instance.processDefinitionKey));
  const then = useQuery({ ...xml(to ?? asKey<DefinitionKey>("0")), enabled: to !== undefined });
  const counts = useQuery(instanceCounts(instance.processInstanceKey, true));
  const sources = useMemo(() => stepsOf(now.data ?? "", instance.processDefinitionId), [now.data, instance.processDefinitionId]);
  const targets = useMemo(() => stepsOf(then.data ?? "", known.data?.processDefinitionId ?? ""), [then.data, known.data]);
  const choices = useMemo(() => choicesOf(search.plan ?? []), [search.plan]);
  const rows = useMemo(() => {
    const standing = new Map(counts.data?.items.map((each) => [each.elementId, each.active + each.incidents]));
    return rowsOf(sources, targets, choices, (element) => standing.get(element) ?? 0);
  }, [sources, targets, choices, counts.data]);
  const gaps = rows.filter((row) => row.how === "gap").length;
  const ready = to !== undefined && targets.length > 0 && counts.data !== undefined;
  const choose = (source: string, next: string) => {
    const changed = new Map(choices);
    if (next === source) changed.delete(source);
    else changed.set(source, next);
    void navigate({ search: { ...search, plan: changed.size === 0 ? undefined : written(changed) }, replace: true });
  };
  if (instance.state !== "ACTIVE") {
    return (
      <>
        <Changing title={t.migrating} />
        <Note title={t.over}>{t.overText}</Note>
      </>
    );
  }
  return (
    <div className="modify">
      <Changing title={t.migrating}>
        <button type="button" className="button main" disabled={!ready || gaps > 0} onClick={() => ask(true)}>
          {t.doMigrate}
        </button>
      </Changing>
      <Target instance={instance} target={target} />
      {to === undefined ? null : (
        <Splitter name="migrate" label={text.instance.resize} initial={300} above={<Drawings instance={instance} to={to} rows={rows} shown={shown} show={show} />}>
          <Mapping rows={rows} targets={targets} loading={!ready} shown={shown} show={show} choose={choose} />
        </Splitter>
      )}
      {asking && known.data ? <Confirm instance={instance} to={known.data} rows={rows} close={() => ask(false)} /> : null}
    </div>
  );
}
