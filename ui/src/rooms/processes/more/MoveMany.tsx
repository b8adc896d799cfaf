// Of many instances of one version, the tokens of one element go to another.
import { useState } from "react";
import type { Filter } from "../../../api/instances";
import { moveMany } from "../../../api/many";
import type { Definition } from "../../../api/processes";
import { ManyForm } from "../../../parts/ManyForm";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { useStanding } from "./standing";

const t = text.commands;
/** What only the engine begins. */
const NOT_HERE = new Set(["startEvent", "boundaryEvent"]);

export function MoveMany({ filter, terms, of, close }: { filter: Filter; terms: readonly string[]; of: Definition; close: () => void }) {
  const { steps, standing } = useStanding(of, filter);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const sources = steps.filter((step) => standing(step.id) > 0);
  const source = sources.find((step) => step.id === from) ?? sources[0];
  const moved: Filter = source ? { ...filter, elementId: source.id, elementInstanceState: "ACTIVE" } : filter;
  return (
    <ManyForm
      title={t.moveManyTitle}
      filter={moved}
      terms={source ? [...terms, `${text.processes.filters.element} ${source.id}`] : terms}
      go={t.doMove}
      ready={source !== undefined && to !== ""}
      run={() => moveMany(moved, [{ sourceElementId: source?.id ?? "", targetElementId: to }])}
      close={close}
    >
      <div className="many-fields">
        <label>
          <span className="label">{t.moveFrom}</span>
          <select className="field" value={source?.id ?? ""} onChange={(event) => setFrom(event.target.value)}>
            {sources.map((step) => (
              <option key={step.id} value={step.id}>{`${step.name} (${number(standing(step.id))})`}</option>
            ))}
          </select>
        </label>
        <label>
          <span className="label">{t.moveTo}</span>
          <select className="field" value={to} onChange={(event) => setTo(event.target.value)}>
            <option value="">{text.change.chooseNone}</option>
            {steps
              .filter((step) => step.id !== source?.id && !NOT_HERE.has(step.type))
              .map((step) => (
                <option key={step.id} value={step.id}>
                  {step.name}
                </option>
              ))}
          </select>
        </label>
      </div>
    </ManyForm>
  );
}
