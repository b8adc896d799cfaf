// A decision with variables of one's own: the server evaluates it, and what it did is shown as of any evaluation.
import { type FormEvent, useState } from "react";
import { type Decision, type Tried, tryDecision } from "../../api/decisions";
import { Problem } from "../../api/problem";
import { toEvaluate } from "../../api/rights";
import { Json } from "../../parts/Json";
import { CodeField } from "../../parts/code/CodeField";
import { jsonError } from "../../parts/json";
import { MayButton } from "../../parts/MayButton";
import { Failure, Note } from "../../parts/Note";
import { text } from "../../text";
import { type Model, variablesOf } from "./model";
import { seenOf } from "./seen";
import { LogicView } from "./TableView";

const t = text.decisions;

interface TryProps {
  decision: Decision;
  model: Model;
  /** Variables of an evaluation that is tried again. */
  given: string | undefined;
}

export function Try({ decision, model, given }: TryProps) {
  const [written, write] = useState(() => given ?? `{\n${variablesOf(model, decision.decisionDefinitionId).map((name) => `  ${JSON.stringify(name)}: null`).join(",\n")}\n}`);
  const [busy, setBusy] = useState(false);
  const [came, setCame] = useState<Tried>();
  const [problem, setProblem] = useState<Problem>();
  const error = jsonError(written) ?? (written.trim().startsWith("{") ? undefined : t.notObject);
  const go = async (event: FormEvent) => {
    event.preventDefault();
    if (error !== undefined || busy) return;
    setBusy(true);
    try {
      setCame(await tryDecision(decision, written));
      setProblem(undefined);
    } catch (thrown) {
      setCame(undefined);
      setProblem(thrown instanceof Problem ? thrown : new Problem(0, "NO_ANSWER", String(thrown)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="try">
      <form onSubmit={(event) => void go(event)}>
        <label>
          <span className="label">{t.tryTitle}</span>
          <CodeField language="json" rows={[5, 16]} value={written} invalid={error !== undefined} write={write} />
        </label>
        <p className={error === undefined ? "faint" : "bad"}>{error === undefined ? t.tryHint : text.commands.invalid(error)}</p>
        <MayButton needs={toEvaluate(decision.decisionDefinitionId)} type="submit" className="button main" disabled={busy || error !== undefined}>
          {busy ? t.evaluating : t.evaluate}
        </MayButton>
      </form>
      <div aria-live="polite">
        {problem === undefined ? null : <Failure problem={problem} />}
        {came === undefined ? null : <Came tried={came} model={model} />}
      </div>
    </div>
  );
}

function Came({ tried, model }: { tried: Tried; model: Model }) {
  return (
    <>
      {tried.failureMessage === null || tried.failureMessage === "" ? (
        <div className="decision-result">
          <p className="label">{t.result}</p>
          <Json value={tried.output} />
        </div>
      ) : (
        <Note tone="incident" title={t.failed}>
          {tried.failureMessage}
        </Note>
      )}
      {tried.evaluatedDecisions.toReversed().map((each) => (
        <section key={each.decisionDefinitionKey} aria-label={each.decisionDefinitionName} className="decision-part">
          <h3 className="decision-pad">{each.decisionDefinitionName}</h3>
          <LogicView logic={model.logic.get(each.decisionDefinitionId)} seen={seenOf(each, each.decisionDefinitionId === tried.failedDecisionDefinitionId ? tried.failureMessage : null)} />
        </section>
      ))}
    </>
  );
}
