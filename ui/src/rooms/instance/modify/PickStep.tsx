// An element by its name: what the diagram offers to mice, for keyboards and screen readers.
import type { Step } from "../../../parts/steps";

const named = (step: Step): string => step.name;

interface PickProps {
  label: string;
  steps: readonly Step[];
  chosen: string | undefined;
  none: string;
  nameOf?: (step: Step) => string;
  choose: (element: string | undefined) => void;
  /** The question was just asked. */
  focus?: boolean;
}

export function PickStep({ label, steps, chosen, none, nameOf = named, choose, focus = false }: PickProps) {
  return (
    <select className="field" aria-label={label} value={chosen ?? ""} ref={(list) => void (focus && list?.dataset.seen === undefined && list && ((list.dataset.seen = ""), list.focus()))} onChange={(event) => choose(event.target.value || undefined)}>
      <option value="">{none}</option>
      {steps.map((step) => (
        <option key={step.id} value={step.id}>
          {nameOf(step)}
        </option>
      ))}
    </select>
  );
}
