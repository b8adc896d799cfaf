// What became of a deployment: its versions, and an instance of it to watch.
import { Link } from "@tanstack/react-router";
import { Check, Play } from "lucide-react";
import { useState } from "react";
import { type Deployment, start } from "../../api/commands";
import { type DefinitionKey, type InstanceKey, asKey } from "../../api/keys";
import { failed } from "../../parts/failed";
import { isJson } from "../../parts/json";
import { text } from "../../text";

const t = text.studio;

export function Outcome({ deployment }: { deployment: Deployment }) {
  const processes = deployment.deployments.flatMap((each) => each.processDefinition ?? []);
  return (
    <section className="outcome" role="status" aria-label={t.deployedNow}>
      {processes.map((each) => (
        <div key={each.processDefinitionKey} className="row wrap">
          <Check size={16} aria-hidden="true" />
          <b>{t.isDeployed(each.processDefinitionId, each.processDefinitionVersion)}</b>
          <Start definition={asKey<DefinitionKey>(each.processDefinitionKey)} />
        </div>
      ))}
    </section>
  );
}

function Start({ definition }: { definition: DefinitionKey }) {
  const [written, write] = useState("{}");
  const [started, setStarted] = useState<InstanceKey>();
  const fits = written.trim().startsWith("{") && isJson(written);
  const go = async () => {
    try {
      setStarted(await start(definition, written));
    } catch (error) {
      failed(error);
    }
  };
  return (
    <>
      <input className="field mono" aria-label={t.variables} title={t.variables} aria-invalid={!fits} value={written} spellCheck="false" onChange={(event) => write(event.target.value)} />
      <button type="button" className="button" disabled={!fits} onClick={() => void go()}>
        <Play size={14} aria-hidden="true" />
        {t.start}
      </button>
      {started === undefined ? null : (
        <Link to="/processes/i/$key" params={{ key: started }}>
          {t.watch(started)}
        </Link>
      )}
    </>
  );
}
