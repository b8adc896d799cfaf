// The plan, change by change: each can be taken back, and what arrives can bring variables and say in which scope it begins.
import { useQuery } from "@tanstack/react-query";
import { ArrowRight, Ban, Braces, Plus, X } from "lucide-react";
import { useState } from "react";
import { tokensOf } from "../../../api/change";
import type { Instance } from "../../../api/instances";
import { useNow } from "../../../parts/now";
import { Note } from "../../../parts/Note";
import type { Step } from "../../../parts/steps";
import { text } from "../../../text";
import { fromNow } from "../../../text/format";
import { type Change, arrives } from "./plan";
import { sentence } from "./sentence";
import type { Plan } from "./usePlan";
import { Variables } from "./Variables";

const t = text.change;
const icons = { add: Plus, cancel: Ban, move: ArrowRight } as const;

interface PlannedProps {
  instance: Instance;
  steps: readonly Step[];
  plan: Plan;
  standing: (element: string) => number;
}

export function Planned({ instance, steps, plan, standing }: PlannedProps) {
  if (plan.changes.length === 0) {
    return (
      <Note title={t.none} small>
        {t.noneText}
      </Note>
    );
  }
  return (
    <ol className="planned">
      {plan.changes.map((change, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- the same change may be planned twice
        <One key={at} instance={instance} steps={steps} change={change} words={sentence(change, steps, standing)} set={(next) => plan.replace(at, next)} />
      ))}
    </ol>
  );
}

interface OneProps {
  instance: Instance;
  steps: readonly Step[];
  change: Change;
  words: string;
  set: (change?: Change) => void;
}

function One({ instance, steps, change, words, set }: OneProps) {
  const [editing, edit] = useState(false);
  const Icon = icons[change.kind];
  const goal = steps.find((step) => step.id === arrives(change));
  return (
    <li className="planned-change">
      <Icon size={14} aria-hidden="true" />
      <div className="planned-words grow">
        <p>{words}</p>
        {goal?.parent === undefined ? null : <Within instance={instance} scope={steps.find((step) => step.id === goal.parent)} change={change} set={set} />}
        {change.variables === undefined ? null : <p className="mono faint clip">{change.variables}</p>}
      </div>
      {goal ? (
        <button type="button" className="button small quiet" aria-label={t.variablesTitle(goal.name)} onClick={() => edit(true)}>
          <Braces size={14} aria-hidden="true" />
          {t.variables}
        </button>
      ) : null}
      <button type="button" className="button small quiet icon" aria-label={t.remove(words)} title={t.remove(words)} onClick={() => set()}>
        <X size={14} aria-hidden="true" />
      </button>
      {editing && goal ? <Variables change={change} name={goal.name} set={set} close={() => edit(false)} /> : null}
    </li>
  );
}

/** Where a sub-process runs several times at once, somebody has to say in which of them. */
function Within({ instance, scope, change, set }: { instance: Instance; scope: Step | undefined; change: Change; set: (change: Change) => void }) {
  const now = useNow();
  const query = useQuery({ ...tokensOf(instance.processInstanceKey, scope?.id ?? ""), enabled: scope !== undefined });
  const open = query.data?.items.filter((each) => each.type !== "MULTI_INSTANCE_BODY") ?? [];
  if (scope === undefined || (open.length < 2 && !scope.multi && change.scope === undefined)) return null;
  return (
    <label className="row planned-scope">
      <span className="faint">{t.within(scope.name)}</span>
      <select className="field" value={change.scope ?? ""} onChange={(event) => set({ ...change, scope: event.target.value || undefined })}>
        <option value="">{t.withinAny}</option>
        {open.map((each) => (
          <option key={each.elementInstanceKey} value={each.elementInstanceKey}>
            {`${each.elementInstanceKey}, ${t.since(fromNow(each.startDate, now))}`}
          </option>
        ))}
      </select>
    </label>
  );
}
