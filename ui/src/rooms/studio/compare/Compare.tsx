// The draft beside what was deployed last: what is added, changed and removed, on the board and as a list.
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useMemo } from "react";
import { type DefinitionKey, asKey } from "../../../api/keys";
import { newestOf, versions } from "../../../api/processes";
import { xml } from "../../../api/xml";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { ChangeList } from "../../../parts/compare/ChangeList";
import { type Change, changesBetween } from "../../../parts/compare/diff";
import { treeOf } from "../../../parts/compare/tree";
import "./compare.css";

const t = text.studio.compare;
const NONE: readonly Change[] = [];

/** Against the newest deployed version of the process; nothing while it is not wanted. */
export function useCompared(process: string, draft: string, wanted: boolean) {
  const found = useQuery({ ...versions(process), enabled: wanted });
  const newest = newestOf(found.data?.items ?? []);
  const model = useQuery({ ...xml(newest?.processDefinitionKey ?? asKey<DefinitionKey>("0")), enabled: wanted && newest !== undefined });
  const changes = useMemo(() => {
    const [before, after] = wanted && model.data !== undefined ? [treeOf(model.data), treeOf(draft)] : [];
    return before && after ? changesBetween(before, after) : NONE;
  }, [wanted, model.data, draft]);
  return { found, model, newest, changes };
}

interface CompareProps {
  compared: ReturnType<typeof useCompared>;
  process: string;
  close: () => void;
  select: (element: string) => void;
}

export function Compare({ compared: { found, model, newest, changes }, process, close, select }: CompareProps) {
  return (
    <section className="compare" aria-label={t.title}>
      <header className="run-head">
        <h2>{t.title}</h2>
        {newest === undefined ? null : <span className="muted clip grow">{t.with(newest.name ?? process, newest.version)}</span>}
        <button type="button" className="button quiet icon small" aria-label={t.close} title={t.close} onClick={close}>
          <X size={14} aria-hidden="true" />
        </button>
      </header>
      <div className="compare-body">
        <Shown query={found} rows={1} small>
          {() =>
            newest === undefined ? (
              <Note title={t.none} small>
                {t.noneText(process)}
              </Note>
            ) : (
              <Shown query={model} rows={1} small>
                {() => (changes.length === 0 ? <Note title={t.same} small>{t.sameText}</Note> : <ChangeList changes={changes} select={select} />)}
              </Shown>
            )
          }
        </Shown>
      </div>
    </section>
  );
}
