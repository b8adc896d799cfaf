// What became of a deployment: its versions, and the way to run them.
import { Check, Play } from "lucide-react";
import type { Deployment } from "../../api/commands";
import { text } from "../../text";

const t = text.studio;

export function Outcome({ deployment, run }: { deployment: Deployment; run: (process: string) => void }) {
  const processes = deployment.deployments.flatMap((each) => each.processDefinition ?? []);
  return (
    <section className="outcome" role="status" aria-label={t.deployedNow}>
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
