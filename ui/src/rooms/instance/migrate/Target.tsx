// What an instance is migrated to: a process, and a version of it. The newest other version is offered, and stays chosen when a newer one is
// deployed while somebody plans.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Instance } from "../../../api/instances";
import { type DefinitionKey, asKey, looksLikeKey } from "../../../api/keys";
import { type Definition, definition, isDeleted, latest, versions } from "../../../api/processes";
import { Note } from "../../../parts/Note";
import { text } from "../../../text";

const route = getRouteApi("/processes/i/$key");
const t = text.change;

export interface Targeted {
  process: string;
  setProcess: (process: string) => void;
  versions: readonly Definition[] | undefined;
  chosen: DefinitionKey | undefined;
}

export function useTarget(instance: Instance): Targeted {
  const { to } = route.useSearch();
  const wanted = to !== undefined && looksLikeKey(to) ? asKey<DefinitionKey>(to) : undefined;
  const named = useQuery({ ...definition(wanted ?? asKey<DefinitionKey>("0")), enabled: wanted !== undefined });
  const [picked, setProcess] = useState<string>();
  const process = picked ?? named.data?.processDefinitionId ?? instance.processDefinitionId;
  const all = useQuery({ ...versions(process), enabled: wanted === undefined || picked !== undefined || named.data !== undefined });
  const others = all.data?.items.filter((each) => each.processDefinitionKey !== instance.processDefinitionKey && each.tenantId === instance.tenantId && !isDeleted(each));
  const [offered, offer] = useState<Definition>();
  if (others?.[0] !== undefined && offered?.processDefinitionId !== process) offer(others[0]);
  const chosen = [wanted, offered?.processDefinitionKey].map((key) => others?.find((each) => each.processDefinitionKey === key)).find((each) => each !== undefined) ?? others?.[0];
  return { process, setProcess, versions: others, chosen: chosen?.processDefinitionKey };
}

export function Target({ instance, target }: { instance: Instance; target: Targeted }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const processes = useQuery(latest());
  const own = instance.processDefinitionId;
  const options = processes.data?.items ?? [];
  const set = (to: string | undefined) => void navigate({ search: { ...search, to, plan: undefined }, replace: true });
  return (
    <>
      <div className="migrate-pick">
        <label>
          <span className="label">{t.process}</span>
          <select
            className="field"
            value={target.process}
            onChange={(event) => {
              target.setProcess(event.target.value);
              set(undefined);
            }}
          >
            {options.some((each) => each.processDefinitionId === own) ? null : <option value={own}>{own}</option>}
            {options.map((each) => (
              <option key={each.processDefinitionKey} value={each.processDefinitionId}>
                {each.name ?? each.processDefinitionId}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span className="label">{t.version}</span>
          <select className="field" value={target.chosen ?? ""} disabled={target.chosen === undefined} onChange={(event) => set(event.target.value)}>
            {(target.versions ?? []).map((each) => (
              <option key={each.processDefinitionKey} value={each.processDefinitionKey}>
                {text.processes.versionOf(each.version, each.versionTag)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {target.versions?.length === 0 ? <Note title={t.noTarget}>{t.noTargetText}</Note> : null}
    </>
  );
}
