// The element that is looked at while a plan is made: its tokens, and what can happen to them.
import { useQuery } from "@tanstack/react-query";
import { ArrowRight, Ban, Plus } from "lucide-react";
import { tokensOf } from "../../../api/change";
import type { ElementInstance, Instance } from "../../../api/instances";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { type Step, kindOf } from "../../../parts/steps";
import { Time } from "../../../parts/Time";
import { text } from "../../../text";
import { useScope } from "../scope";
import type { Moving } from "./Modify";
import { free } from "./plan";
import { PickStep } from "./PickStep";
import type { Plan } from "./usePlan";

const t = text.change;
/** What only the engine begins. */
const NOT_HERE = new Set(["startEvent", "boundaryEvent"]);
const LISTED = 20;

interface ChoiceProps {
  instance: Instance;
  steps: readonly Step[];
  plan: Plan;
  standing: (element: string) => number;
  moving: Moving | undefined;
  move: (moving: Moving | undefined) => void;
  arrive: (element: string) => void;
}

export function Choice({ instance, steps, plan, standing, moving, move, arrive }: ChoiceProps) {
  const { element, chooseElement } = useScope();
  const chosen = steps.find((step) => step.id === element);
  const label = (step: Step) => (standing(step.id) > 0 ? `${step.name} · ${t.tokens(standing(step.id))}` : step.name);
  return (
    <div className="choice">
      <PickStep label={t.choose} steps={steps} chosen={element} none={t.chooseNone} nameOf={label} choose={chooseElement} />
      {moving ? (
        <div className="choice-moving" role="group" aria-label={t.moveOne}>
          <b aria-live="polite">{t.moving(moving.count, steps.find((step) => step.id === moving.element)?.name ?? moving.element)}</b>
          <p className="muted">{t.movingText}</p>
          <div className="row">
            <PickStep label={t.target} steps={steps.filter((step) => step.id !== moving.element && !NOT_HERE.has(step.type))} chosen={undefined} none={t.chooseNone} choose={(to) => to && arrive(to)} focus />
            <button type="button" className="button" onClick={() => move(undefined)}>
              {t.never}
            </button>
          </div>
        </div>
      ) : chosen ? (
        <Tokens key={chosen.id} instance={instance} step={chosen} plan={plan} move={move} />
      ) : (
        <Note title={t.chooseNone} small>
          {t.chooseText}
        </Note>
      )}
    </div>
  );
}

function Tokens({ instance, step, plan, move }: { instance: Instance; step: Step; plan: Plan; move: (moving: Moving) => void }) {
  const query = useQuery(tokensOf(instance.processInstanceKey, step.id));
  return (
    <Shown query={query} rows={2} small>
      {({ items, total }) => {
        const left = free(items, plan.changes);
        // All of them at a time, as long as none of them has a plan of its own; there may be more than are listed.
        const all = left.length === items.length ? { count: total } : { count: left.length, keys: left };
        return (
          <div className="choice-body">
            <p className="choice-facts">
              <b>{left.length === items.length ? t.standing(total) : t.left(left.length)}</b>
              <span className="faint">{kindOf(step.type)}</span>
              <span className="faint mono">{step.id}</span>
            </p>
            <div className="row wrap choice-actions">
              <button type="button" className="button small" disabled={NOT_HERE.has(step.type)} onClick={() => plan.add({ kind: "add", element: step.id })}>
                <Plus size={14} aria-hidden="true" />
                {t.add}
              </button>
              {all.count > 0 && all.keys === undefined ? (
                <>
                  <button type="button" className="button small" onClick={() => move({ element: step.id, count: all.count })}>
                    <ArrowRight size={14} aria-hidden="true" />
                    {t.move(all.count)}
                  </button>
                  <button type="button" className="button small" onClick={() => plan.add({ kind: "cancel", element: step.id })}>
                    <Ban size={14} aria-hidden="true" />
                    {t.cancel(all.count)}
                  </button>
                </>
              ) : null}
            </div>
            {NOT_HERE.has(step.type) ? <p className="faint">{t.notHere}</p> : null}
            {items.length > 1 && left.length > 0 ? <Each tokens={left.slice(0, LISTED)} plan={plan} move={move} /> : null}
          </div>
        );
      }}
    </Shown>
  );
}

function Each({ tokens, plan, move }: { tokens: readonly ElementInstance[]; plan: Plan; move: (moving: Moving) => void }) {
  return (
    <ul className="choice-tokens">
      {tokens.map(({ elementId: element, elementInstanceKey: token, startDate, type }) => (
        <li key={token} className="choice-token">
          <span className="mono clip">{token}</span>
          <span className="faint">
            <Time at={startDate} />
          </span>
          {type === "MULTI_INSTANCE_BODY" ? <span className="faint clip">{t.body}</span> : null}
          <span className="grow" />
          <button type="button" className="button small quiet" aria-label={`${t.moveOne} ${token}`} onClick={() => move({ element, token, count: 1 })}>
            {t.moveOne}
          </button>
          <button type="button" className="button small quiet" aria-label={`${t.cancelOne} ${token}`} onClick={() => plan.add({ kind: "cancel", element, token })}>
            {t.cancelOne}
          </button>
        </li>
      ))}
    </ul>
  );
}
