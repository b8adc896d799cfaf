// One evaluation: what went in, which rules matched, what came out, and what was asked on the way.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type EvaluationDetail, deployedVersion, evaluatedWith, evaluation } from "../../api/decisions";
import { asKey } from "../../api/keys";
import { Deleted } from "../../parts/Deleted";
import { Json } from "../../parts/Json";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Shown } from "../../parts/Shown";
import { State } from "../../parts/State";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { WithModel } from "./WithModel";
import type { Model } from "./model";
import { Requirements } from "./Requirements";
import { seenOf } from "./seen";
import { LogicView } from "./TableView";
import "./decisions.css";

const route = getRouteApi("/decisions/i/$id");
const t = text.decisions;

export function Evaluation() {
  const { id } = route.useParams();
  const one = useQuery(evaluation(id));
  const deployed = useQuery({ ...deployedVersion(one.data?.decisionDefinitionId ?? ""), enabled: one.data !== undefined }).data;
  const isGone = one.data !== undefined && deployed !== undefined && one.data.decisionDefinitionVersion > deployed;
  if (one.error?.isGone || one.error?.status === 400) {
    return (
      <>
        <PageTitle title={t.title} />
        <Note title={t.gone}>{t.goneText(id)}</Note>
      </>
    );
  }
  return (
    <>
      <PageTitle title={one.data?.decisionDefinitionName ?? t.title} />
      <Shown query={one} rows={6}>
        {(found) => (
          <>
            <Head found={found} isGone={isGone} />
            <div className="evaluation-result">
              {found.state === "FAILED" ? (
                <Note tone="incident" title={t.failed}>
                  {found.evaluationFailure}
                </Note>
              ) : (
                <div className="decision-result">
                  <p className="label">{t.result}</p>
                  <Json value={found.result} />
                </div>
              )}
              <Inputs found={found} />
            </div>
            <WithModel of={found.decisionDefinitionKey}>{(model) => <Shaped found={found} model={model} isGone={isGone} />}</WithModel>
          </>
        )}
      </Shown>
    </>
  );
}

function Head({ found, isGone }: { found: EvaluationDetail; isGone: boolean }) {
  const called = found.processInstanceKey !== null && found.processInstanceKey !== asKey("-1");
  return (
    <header className="evaluation-head">
      <Link to="/decisions" search={{ decision: found.decisionDefinitionId }} className="row">
        <ChevronLeft size={14} aria-hidden="true" />
        {t.evaluations}
      </Link>
      <State name={found.state} />
      <span className="faint figure">{t.versionOf(found.decisionDefinitionVersion)}</span>
      {isGone ? <Deleted of="decision" /> : null}
      <Time at={found.evaluationDate} />
      {called ? (
        <Link to="/processes/i/$key" params={{ key: found.processInstanceKey ?? "" }} search={{ scope: found.elementInstanceKey ?? undefined }}>
          {t.instance}
        </Link>
      ) : (
        <span className="faint">{t.tried}</span>
      )}
      {found.businessId === null ? null : <span>{found.businessId}</span>}
      <span className="mono faint clip">{found.decisionEvaluationInstanceKey}</span>
    </header>
  );
}

function Inputs({ found }: { found: EvaluationDetail }) {
  return (
    <div className="decision-result">
      <p className="label">{t.inputs}</p>
      {found.evaluatedInputs.length === 0 ? <p className="faint">{t.inputsNone}</p> : null}
      <dl className="evaluation-inputs">
        {found.evaluatedInputs.map((each) => (
          <div key={each.inputId}>
            <dt className="clip" title={each.inputName}>{each.inputName}</dt>
            <dd>
              <Json value={each.inputValue} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** The inputs as variables, as far as an input is no more than the name of one. */
function again(found: EvaluationDetail, model: Model): string {
  const logic = model.logic.get(found.decisionDefinitionId);
  const names = new Map(logic?.kind === "table" ? logic.inputs.map((each) => [each.id, each.text]) : []);
  const members = found.evaluatedInputs.flatMap(({ inputId, inputValue }) => {
    const name = names.get(inputId) ?? "";
    return /^[A-Za-z_]\w*$/.test(name) ? [`  ${JSON.stringify(name)}: ${inputValue}`] : [];
  });
  return `{\n${members.join(",\n")}\n}`;
}

function Shaped({ found, model, isGone }: { found: EvaluationDetail; model: Model; isGone: boolean }) {
  const logic = model.logic.get(found.decisionDefinitionId);
  const others = useQuery(evaluatedWith(found.decisionEvaluationKey));
  const together = (others.data?.items ?? []).filter((each) => each.decisionEvaluationInstanceKey !== found.decisionEvaluationInstanceKey);
  return (
    <>
      <div className="decision-bar">
        <b role="status">{logic?.kind === "table" ? t.matched(found.matchedRules.length) : ""}</b>
        <span className="grow" />
        {isGone ? null : (
          <Link
            to="/decisions"
            search={{ decision: found.decisionDefinitionId, version: String(found.decisionDefinitionVersion), tab: "try", with: again(found, model) }}
            className="button small"
          >
            {t.tryAgain}
          </Link>
        )}
      </div>
      <LogicView logic={logic} seen={seenOf(found, found.evaluationFailure)} />
      {together.length > 0 ? (
        <section className="decision-part decision-pad" aria-label={t.together}>
          <h2>{t.together}</h2>
          <ul className="together">
            {together.map((each) => (
              <li key={each.decisionEvaluationInstanceKey} className="row">
                <State name={each.state} bare />
                <Link to="/decisions/i/$id" params={{ id: each.decisionEvaluationInstanceKey }} className="clip">
                  {each.decisionDefinitionName}
                </Link>
                <code className="clip faint">{each.state === "FAILED" ? each.evaluationFailure : each.result}</code>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      <Requirements model={model} decision={found.decisionDefinitionId} name={found.decisionDefinitionName} of={found.decisionDefinitionKey} />
    </>
  );
}
