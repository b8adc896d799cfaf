// An instance of the newest deployed version is started, with variables.
import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { type FormEvent, useState } from "react";
import { start } from "../../../api/commands";
import type { InstanceKey } from "../../../api/keys";
import { type Definition, newestOf, versions } from "../../../api/processes";
import { rightsOn } from "../../../api/rights";
import { failed } from "../../../parts/failed";
import { MayButton } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { JsonField, wrongWith } from "./JsonField";

const t = text.studio.run;

interface StartProps {
  process: string;
  /** As they were for the last one. */
  variables: string;
  write: (variables: string) => void;
  started: (key: InstanceKey) => void;
}

export function Start({ process, variables, write, started }: StartProps) {
  const [busy, setBusy] = useState(false);
  const query = useQuery(versions(process));
  const go = async (event: FormEvent, definition: Definition) => {
    event.preventDefault();
    if (busy || wrongWith(variables) !== undefined) return;
    setBusy(true);
    try {
      started(await start(definition, variables));
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Shown query={query} rows={2} small>
      {({ items }) => {
        const newest = newestOf(items);
        return newest === undefined ? (
          <Note title={t.notDeployed} small>
            {t.notDeployedText(process)}
          </Note>
        ) : (
          <form className="run-start" onSubmit={(event) => void go(event, newest)}>
            <p className="muted clip">{t.version(newest.name ?? process, newest.version)}</p>
            <JsonField written={variables} write={write} />
            <MayButton needs={rightsOn(newest.processDefinitionId).start} type="submit" className="button main" disabled={busy || wrongWith(variables) !== undefined}>
              <Play size={14} aria-hidden="true" />
              {t.start}
            </MayButton>
          </form>
        );
      }}
    </Shown>
  );
}
