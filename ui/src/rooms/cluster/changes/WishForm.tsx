// What the cluster is to be, the steps that lead there, and then the change itself.
import { type FormEvent, type ReactNode, useState } from "react";
import { type Planned, type Wanted, beginChange, planChange } from "../../../api/management";
import { Problem } from "../../../api/problem";
import { RIGHTS } from "../../../api/rights";
import type { Topology } from "../../../api/topology";
import { MayButton } from "../../../parts/MayButton";
import { Failure, Note } from "../../../parts/Note";
import { useAct } from "../../../parts/act";
import { cluster as t } from "../../../text/cluster";
import { Steps } from "./Steps";
import { NONE, type Wish, checked } from "./wish";

export function WishForm({ cluster }: { cluster: Topology }) {
  const [wish, setWish] = useState<Wish>(NONE);
  const [wrong, setWrong] = useState<Partial<Record<string, string>>>({});
  const [refused, refuse] = useState<Problem>();
  const [plan, setPlan] = useState<{ wanted: Wanted; planned: Planned }>();
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<Wish>) => {
    setWish({ ...wish, ...part });
    setWrong({});
    refuse(undefined);
  };
  const show = async (event: FormEvent) => {
    event.preventDefault();
    const found = checked(wish, { partitions: cluster.partitionsCount, copies: cluster.replicationFactor });
    if ("wrong" in found) return setWrong(found.wrong);
    setBusy(true);
    refuse(undefined);
    try {
      setPlan({ wanted: found.wanted, planned: await planChange(found.wanted) });
    } catch (error) {
      refuse(error instanceof Problem ? error : new Problem(0, "NO_ANSWER", String(error)));
    } finally {
      setBusy(false);
    }
  };
  if (plan !== undefined) {
    const again = (isBegun: boolean) => {
      setPlan(undefined);
      if (isBegun) setWish(NONE);
    };
    return <Plan {...plan} leave={again} />;
  }
  return (
    <form className="wish" onSubmit={(event) => void show(event)} noValidate>
      <p className="muted">{t.wantText}</p>
      <Field name={t.add} hint={t.addHint} wrong={wrong["add"]} value={wish.add} set={(add) => set({ add })} />
      <Leaving cluster={cluster} chosen={wish.remove} choose={(remove) => set({ remove })} />
      <div className="wish-two">
        <Field name={t.count} hint={t.countHint(cluster.partitionsCount)} wrong={wrong["partitions"]} value={wish.partitions} set={(partitions) => set({ partitions })} />
        <Field name={t.copies} hint={t.copiesHint(cluster.replicationFactor)} wrong={wrong["copies"]} value={wish.copies} set={(copies) => set({ copies })} />
      </div>
      {wrong["all"] === undefined ? null : <p className="bad" role="alert">{wrong["all"]}</p>}
      {refused === undefined ? null : <Refused problem={refused} />}
      <div>
        <button type="submit" className="button main" disabled={busy}>
          {t.plan}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  name: string;
  hint: string;
  wrong: string | undefined;
  value: string;
  set: (value: string) => void;
}

function Field({ name, hint, wrong, value, set }: FieldProps): ReactNode {
  const id = `wish-${name.replaceAll(/\W+/g, "-")}`;
  return (
    <div className="wish-field">
      <label className="label" htmlFor={id}>
        {name}
      </label>
      <input id={id} className="field" inputMode="numeric" autoComplete="off" value={value} aria-describedby={`${id}-hint`} aria-invalid={wrong !== undefined} onChange={(event) => set(event.target.value)} />
      <p id={`${id}-hint`} className={wrong === undefined ? "faint" : "bad"} role={wrong === undefined ? undefined : "alert"}>
        {wrong ?? hint}
      </p>
    </div>
  );
}

/** A node that is alone cannot leave. */
function Leaving({ cluster, chosen, choose }: { cluster: Topology; chosen: readonly number[]; choose: (ids: readonly number[]) => void }) {
  if (cluster.brokers.length < 2) return null;
  return (
    <fieldset className="wish-leaving">
      <legend className="label">{t.remove}</legend>
      {cluster.brokers
        .toSorted((a, b) => a.nodeId - b.nodeId)
        .map(({ nodeId }) => (
          <label key={nodeId} className="row">
            <input type="checkbox" checked={chosen.includes(nodeId)} onChange={(event) => choose(event.target.checked ? [...chosen, nodeId] : chosen.filter((id) => id !== nodeId))} />
            {`${t.node} ${nodeId}`}
          </label>
        ))}
      <p className="faint">{t.removeHint}</p>
    </fieldset>
  );
}

function Refused({ problem }: { problem: Problem }) {
  if (problem.status !== 400 && problem.status !== 409 && problem.status !== 501) return <Failure problem={problem} small />;
  const title = problem.status === 409 ? t.busy : /alone/.test(problem.detail) ? t.alone : t.impossible;
  return (
    <Note tone="incident" title={title} small>
      {problem.detail}
    </Note>
  );
}

function Plan({ wanted, planned, leave }: { wanted: Wanted; planned: Planned; leave: (isBegun: boolean) => void }) {
  const { busy, act } = useAct();
  const steps = planned.plannedChanges;
  const apply = async () => {
    const begun = await act(() => beginChange(wanted), t.begun(planned.changeId));
    if (begun) leave(true);
  };
  return (
    <div className="wish" role="group" aria-label={t.planned(steps.length)}>
      {steps.length === 0 ? (
        <Note title={t.nothing} small>
          {t.nothingText}
        </Note>
      ) : (
        <>
          <p>
            <b>{t.planned(steps.length)}.</b> <span className="muted">{t.plannedText}</span>
          </p>
          <Steps pending={steps} rest="planned" />
        </>
      )}
      <div className="row">
        <button type="button" className="button" onClick={() => leave(false)}>
          {t.edit}
        </button>
        {steps.length === 0 ? null : (
          <MayButton needs={RIGHTS.operate} className="button main" autoFocus disabled={busy} onClick={() => void apply()}>
            {t.apply}
          </MayButton>
        )}
      </div>
    </div>
  );
}
