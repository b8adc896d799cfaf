// The steps of a change, one below the other: which are done, and which are to come.
import { Ban, Check, CircleDashed, LoaderCircle } from "lucide-react";
import type { Step } from "../../../api/management";
import { Time } from "../../../parts/Time";
import { cluster as t } from "../../../text/cluster";
import { stepText } from "./wish";

interface StepsProps {
  done?: readonly Step[];
  pending: readonly Step[];
  /** What became of those that were not done. */
  rest: "planned" | "running" | "over";
}

/** A change may have the same step twice. */
const keyed = (steps: readonly Step[]) => steps.map((step, at) => ({ step, key: `${at} ${stepText(step)}` }));

export function Steps({ done, pending, rest }: StepsProps) {
  return (
    <ol className="steps">
      {keyed(done ?? []).map(({ step, key }) => (
        <li key={`done ${key}`}>
          <Check size={14} className="steps-done" aria-hidden="true" />
          <span>{stepText(step)}</span>
          <span className="faint">
            <Time at={step.completedAt} />
          </span>
        </li>
      ))}
      {keyed(pending).map(({ step, key }, at) => {
        const isNow = rest === "running" && at === 0;
        const Icon = rest === "over" ? Ban : isNow ? LoaderCircle : CircleDashed;
        return (
          <li key={`pending ${key}`} aria-current={isNow ? "step" : undefined} className={rest === "planned" || isNow ? undefined : "muted"}>
            <Icon size={14} aria-hidden="true" />
            <span>{stepText(step)}</span>
            {rest === "planned" ? null : <span className="faint">{rest === "over" ? t.givenUp : isNow ? t.changeStates["IN_PROGRESS"] : t.waits}</span>}
          </li>
        );
      })}
    </ol>
  );
}
