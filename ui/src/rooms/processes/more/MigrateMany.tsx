// Many instances of one version go on by another one: what keeps its id is mapped, what has tokens and no target has to be.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Filter } from "../../../api/instances";
import { asKey } from "../../../api/keys";
import { migrateMany } from "../../../api/many";
import { type Definition, isDeleted, versions } from "../../../api/processes";
import { xml } from "../../../api/xml";
import { ManyForm } from "../../../parts/ManyForm";
import { type Row, candidates, pairsOf, rowsOf } from "../../../parts/mapping";
import { type Step, stepsOf } from "../../../parts/steps";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { useStanding } from "./standing";

const t = text.commands;
const c = text.change;

export function MigrateMany({ filter, terms, of, close }: { filter: Filter; terms: readonly string[]; of: Definition; close: () => void }) {
  const { steps, standing, known } = useStanding(of, filter);
  const [wanted, want] = useState<string>();
  const [choices, setChoices] = useState<ReadonlyMap<string, string>>(new Map());
  const others = useQuery(versions(of.processDefinitionId)).data?.items.filter((each) => each.processDefinitionKey !== of.processDefinitionKey && !isDeleted(each)) ?? [];
  const target = others.find((each) => each.processDefinitionKey === wanted) ?? others[0];
  // It stays chosen when a newer one is deployed while somebody plans.
  if (wanted === undefined && target !== undefined) want(target.processDefinitionKey);
  const then = useQuery({ ...xml(target?.processDefinitionKey ?? asKey("0")), enabled: target !== undefined });
  const targets = useMemo(() => stepsOf(then.data ?? "", of.processDefinitionId), [then.data, of.processDefinitionId]);
  const rows = useMemo(() => rowsOf(steps, targets, choices, standing), [steps, targets, choices, standing]);
  const gaps = rows.filter((row) => row.how === "gap").length;
  const ready = target !== undefined && known && targets.length > 0 && gaps === 0;
  return (
    <ManyForm title={t.migrateManyTitle} filter={filter} terms={terms} go={t.doMigrate} ready={ready} run={() => migrateMany(filter, target?.processDefinitionKey ?? "", pairsOf(rows))} close={close} wide>
      {target === undefined ? (
        <p className="bad">{c.noTargetText}</p>
      ) : (
        <div className="many-fields">
          <label>
            <span className="label">{t.migrateTo}</span>
            <select className="field" value={target.processDefinitionKey} onChange={(event) => want(event.target.value)}>
              {others.map((each) => (
                <option key={each.processDefinitionKey} value={each.processDefinitionKey}>
                  {text.processes.versionOf(each.version, each.versionTag)}
                </option>
              ))}
            </select>
          </label>
          <p role="status" className={gaps > 0 ? "bad" : "faint"}>
            {gaps > 0 ? c.gaps(gaps) : c.ready(rows.filter((row) => row.target !== undefined).length)}
          </p>
          {rows
            .filter((row) => row.standing > 0)
            .map((row) => (
              <Pick key={row.source.id} row={row} targets={targets} choose={(to) => setChoices(new Map([...choices, [row.source.id, to]]))} />
            ))}
        </div>
      )}
    </ManyForm>
  );
}

function Pick({ row, targets, choose }: { row: Row; targets: readonly Step[]; choose: (target: string) => void }) {
  return (
    <label>
      <span className="label">{`${row.source.name} (${number(row.standing)}) ${c.becomes.toLowerCase()}`}</span>
      <select className="field" value={row.target ?? ""} onChange={(event) => choose(event.target.value)}>
        <option value="">{c.unmapped}</option>
        {candidates(row.source, targets).map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}
