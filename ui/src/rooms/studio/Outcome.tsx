// What became of a deployment: its versions, and the way to run them.
import { Link } from "@tanstack/react-router";
import { Check, Play } from "lucide-react";
import type { Deployment } from "../../api/commands";
import { text } from "../../text";

const t = text.studio;

export function Outcome({ deployment, run }: { deployment: Deployment; run: (process: string) => void }) {
  const processes = deployment.deployments.flatMap((each) => each.processDefinition ?? []);
  const decisions = deployment.deployments.flatMap((each) => each.decisionDefinition ?? []);
  const forms = deployment.deployments.flatMap((each) => each.form ?? []);
  return (
    <section className="outcome" role="status" aria-label={t.deployedNow}>
      {decisions.map((each) => (
        <div key={each.decisionDefinitionKey} className="row wrap">
          <Check size={16} aria-hidden="true" />
          <b>{t.isDeployed(each.decisionDefinitionId, each.version)}</b>
          <Link to="/decisions" search={{ decision: each.decisionDefinitionId, tab: "try" }} className="button small">
            <Play size={14} aria-hidden="true" />
            {t.tryIt}
          </Link>
        </div>
      ))}
      {forms.map((each) => (
        <div key={each.formKey} className="row wrap">
          <Check size={16} aria-hidden="true" />
          <b>{t.isDeployed(each.formId, each.version)}</b>
        </div>
      ))}
      {processes.map((each) => (
        <div key={each.processDefinitionKey} className="row wrap">
          <Check size={16} aria-hidden="true" />
          <b>{t.isDeployed(each.processDefinitionId, each.processDefinitionVersion)}</b>
          <button type="button" className="button small" onClick={() => run(each.processDefinitionId)}>
            <Play size={14} aria-hidden="true" />
            {t.runIt}
          </button>
        </div>
      ))}
    </section>
  );
}
