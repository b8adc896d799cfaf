// An instance is modified: tokens are cancelled, moved and added by a plan that the diagram shows, and that is applied as one.
import { useQuery } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { type Instance, instanceCounts } from "../../../api/instances";
import { xml } from "../../../api/xml";
import { Note } from "../../../parts/Note";
import { Splitter } from "../../../parts/Splitter";
import { stepsOf } from "../../../parts/steps";
import { text } from "../../../text";
import { Changing } from "../Changing";
import { Drawing } from "../Drawing";
import { useScope } from "../scope";
import { Choice } from "./Choice";
import { Planned } from "./Planned";
import { Review } from "./Review";
import { ghostsOf, usePlan } from "./usePlan";

const t = text.change;

export interface Moving {
  element: string;
  token?: string;
  count: number;
}

export default function Modify({ instance }: { instance: Instance }) {
  const plan = usePlan();
  const { chooseElement } = useScope();
  const [moving, move] = useState<Moving>();
  const [reviewing, review] = useState(false);
  const model = useQuery(xml(instance.processDefinitionKey));
  const counts = useQuery(instanceCounts(instance.processInstanceKey, true));
  const steps = useMemo(() => stepsOf(model.data ?? "", instance.processDefinitionId), [model.data, instance.processDefinitionId]);
  const standing = useMemo(() => {
    const found = new Map(counts.data?.items.map((each) => [each.elementId, each.active + each.incidents]));
    return (element: string) => found.get(element) ?? 0;
  }, [counts.data]);
  const ghosts = useMemo(() => ghostsOf(plan.changes, standing), [plan.changes, standing]);
  const arrive = (to: string) => {
    if (!moving || to === moving.element) return;
    plan.add({ kind: "move", element: moving.element, token: moving.token, to });
    move(undefined);
  };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const writing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "z" && (event.ctrlKey || event.metaKey) && !writing) {
        event.preventDefault();
        plan.undo();
      } else if (event.key === "Escape") move(undefined);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [plan]);
  if (instance.state !== "ACTIVE") {
    return (
      <>
        <Changing title={t.modifying} />
        <Note title={t.over}>{t.overText}</Note>
      </>
    );
  }
  return (
    <div className="modify">
      <Changing title={t.modifying}>
        <button type="button" className="button" disabled={plan.changes.length === 0} onClick={plan.undo}>
          <Undo2 size={14} aria-hidden="true" />
          {t.undo}
        </button>
        <button type="button" className="button main" disabled={plan.changes.length === 0} onClick={() => review(true)}>
          {t.review(plan.changes.length)}
        </button>
      </Changing>
      <Splitter name="instance" label={text.instance.resize} initial={280} above={<Drawing instance={instance} ghosts={ghosts} onChoose={moving ? arrive : chooseElement} />}>
        <div className="instance-parts">
          <section className="history" aria-label={t.chosenOne}>
            <Choice instance={instance} steps={steps} plan={plan} standing={standing} moving={moving} move={move} arrive={arrive} />
          </section>
          <section className="details" aria-label={t.planned}>
            <h2 className="part-title">{t.planned}</h2>
            <Planned instance={instance} steps={steps} plan={plan} standing={standing} />
          </section>
        </div>
      </Splitter>
      {reviewing ? <Review instance={instance} steps={steps} plan={plan} standing={standing} close={() => review(false)} /> : null}
    </div>
  );
}
