// The last look before a plan is applied; a refusal of the server stays beside the plan that it is about.
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { modify } from "../../../api/change";
import type { Instance } from "../../../api/instances";
import { announce } from "../../../parts/announce";
import { Dialog } from "../../../parts/Dialog";
import type { Step } from "../../../parts/steps";
import { text } from "../../../text";
import { Refusal } from "../Refusal";
import { arrives, bodyOf } from "./plan";
import { sentence } from "./sentence";
import type { Plan } from "./usePlan";

const t = text.change;

interface ReviewProps {
  instance: Instance;
  steps: readonly Step[];
  plan: Plan;
  standing: (element: string) => number;
  close: () => void;
}

export function Review({ instance, steps, plan, standing, close }: ReviewProps) {
  const router = useRouter();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<unknown>();
  const key = instance.processInstanceKey;
  const gone = new Set(plan.changes.filter((change) => change.kind === "cancel" && change.token === undefined).map((change) => change.element));
  const ends = plan.changes.every((change) => arrives(change) === undefined) && steps.every((step) => standing(step.id) === 0 || gone.has(step.id));
  const apply = async () => {
    setBusy(true);
    try {
      await modify(key, bodyOf(plan.changes));
      announce("done", t.applied);
      await router.navigate({ to: "/processes/i/$key", params: { key } });
    } catch (error) {
      setRefusal(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.reviewTitle} isOpen close={close} wide>
      <ol className="review">
        {plan.changes.map((change, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- the same change may be planned twice
          <li key={at}>
            {sentence(change, steps, standing)}
            {change.scope === undefined ? "" : ` ${t.into(change.scope)}`}
            {change.variables === undefined ? null : (
              <p className="mono faint">
                {change.variables}
                {change.local ? ` (${t.variablesLocal})` : ""}
              </p>
            )}
          </li>
        ))}
      </ol>
      {ends ? <p className="change-warning">{t.ends}</p> : null}
      <Refusal error={refusal} />
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {text.words.cancel}
        </button>
        <button type="button" className="button main" disabled={busy} onClick={() => void apply()}>
          {t.apply}
        </button>
      </div>
    </Dialog>
  );
}
