// A server without processes: how the first one gets there.
import { Link } from "@tanstack/react-router";
import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { deploy } from "../../api/commands";
import { RIGHTS } from "../../api/rights";
import { useSession } from "../../api/session";
import { announce } from "../../parts/announce";
import { failed } from "../../parts/failed";
import { MayButton, tellLack, useLack } from "../../parts/MayButton";
import { isDoubtful, reasonOf } from "../../parts/reason";
import { TenantField, useTenantChoice } from "../../parts/tenant";
import { text } from "../../text";

const t = text.home;

async function send(files: FileList | null, tenant: string | undefined) {
  if (!files || files.length === 0) return;
  try {
    const deployment = await deploy([...files], tenant);
    announce("done", t.deployed(deployment.deployments.length));
  } catch (error) {
    if (isDoubtful(error)) failed(error);
    else announce("failed", t.refused, reasonOf(error));
  }
}

export function Welcome() {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const choice = useTenantChoice();
  // Where rights are asked for, nobody can tell none from none that is shown.
  const title = useSession().kind === "in" ? t.emptyForYou : t.emptyTitle;
  const lack = useLack(RIGHTS.deploy);
  const take = (files: FileList | null) => (lack !== undefined ? tellLack(lack) : choice.ready ? void send(files, choice.tenant) : announce("failed", text.tenants.choose));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- dropping is a second way to what the button does
    <section
      className={`welcome${over ? " over" : ""}`}
      aria-label={title}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files);
      }}
    >
      <h2>{title}</h2>
      <p className="muted">{t.emptyText}</p>
      <pre className="welcome-code">skep deploy examples/first-process.bpmn</pre>
      <TenantField choice={choice} />
      <p className="row wrap">
        <MayButton needs={RIGHTS.deploy} className="button main" disabled={!choice.ready} onClick={() => input.current?.click()}>
          <Upload size={16} aria-hidden="true" />
          {t.emptyPick}
        </MayButton>
        <Link to="/studio" search={{ sample: "order" }} className="button">
          {t.emptySample}
        </Link>
        <Link to="/studio" className="button">
          {t.emptyDraw}
        </Link>
      </p>
      <p className="muted">{t.emptyDrop}</p>
      <input ref={input} className="hidden" tabIndex={-1} type="file" multiple accept=".bpmn,.xml,.dmn,.form" aria-label={t.emptyPick} onChange={(event) => take(event.target.files)} />
    </section>
  );
}
