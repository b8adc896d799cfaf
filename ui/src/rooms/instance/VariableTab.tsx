// The variables of a scope, as the text that they are; what is long is cut and can be opened.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FlaskConical, ListFilter, Pencil, Plus } from "lucide-react";
import { useState } from "react";
import { type Incident, ofInstance } from "../../api/incidents";
import { type Instance, type Variable, variables } from "../../api/instances";
import { type Right, rightsOn } from "../../api/rights";
import { Cut } from "../../parts/Cut";
import { MayButton } from "../../parts/MayButton";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { AddVariable, EditVariable } from "./EditVariable";
import { useAt } from "./Replay";
import { sameValue } from "./same";
import { useScope } from "./scope";
import { Value, useValue } from "./Value";

const t = text.instance;

export function VariableTab({ instance }: { instance: Instance }) {
  const { key, name, after } = useScope();
  const atWork = instance.state === "ACTIVE";
  const { update } = rightsOn(instance.processDefinitionId);
  const query = useQuery(variables(key, atWork, after));
  // What went wrong in this instance itself can be tried again together with a change of its data.
  const troubles = useQuery({ ...ofInstance(instance.processInstanceKey), enabled: instance.hasIncident });
  const incidents = (troubles.data?.items ?? []).filter((each) => each.state === "ACTIVE" && each.processInstanceKey === instance.processInstanceKey);
  const [at] = useAt();
  const [adding, setAdding] = useState(false);
  const scope = name ?? t.whole;
  return (
    <>
      <div className="part-head">
        <span className="clip muted">{t.variablesOf(scope)}</span>
        <span className="grow" />
        <Link to="/feel" search={{ instance: instance.processInstanceKey, scope: key === instance.processInstanceKey ? undefined : key }} className="button small">
          <FlaskConical size={14} aria-hidden="true" />
          {text.feel.try}
        </Link>
        {atWork ? (
          <MayButton needs={update} className="button small" onClick={() => setAdding(true)}>
            <Plus size={14} aria-hidden="true" />
            {text.commands.add}
          </MayButton>
        ) : null}
      </div>
      {at === undefined ? null : <p className="variables-today">{t.today}</p>}
      <Shown query={query} rows={4}>
        {({ items, page }) =>
          items.length === 0 && after === undefined ? (
            <Note title={t.variablesNone} small>
              {t.variablesNoneText}
            </Note>
          ) : (
            <>
              <dl className="variables">
                {items.map((each) => (
                  <Row key={each.variableKey} variable={each} needs={atWork ? update : undefined} ended={!atWork} incidents={incidents} />
                ))}
              </dl>
              <Cut shown={items.length} page={page} after={after} />
            </>
          )
        }
      </Shown>
      {adding ? <AddVariable scope={key} scopeName={scope} taken={query.data?.items.map((each) => each.name) ?? []} ended={!atWork} incidents={incidents} close={() => setAdding(false)} /> : null}
    </>
  );
}

interface RowProps {
  variable: Variable;
  /** To change it; nothing where it cannot be. */
  needs: Right | undefined;
  ended: boolean;
  incidents: readonly Incident[];
}

function Row({ variable, needs, ended, incidents }: RowProps) {
  const [editing, setEditing] = useState(false);
  const { value, isCut, load } = useValue(variable, editing);
  const same = sameValue(variable);
  return (
    <div className="variable">
      <dt className="mono clip" title={variable.name}>
        {variable.name}
      </dt>
      <dd>
        <Value value={value} isCut={isCut} load={load} />
      </dd>
      <dd className="variable-acts">
        {same ? (
          <Link to="/processes" search={same} className="button quiet icon small" aria-label={t.sameValue(variable.name)} title={t.sameValue(variable.name)}>
            <ListFilter size={14} aria-hidden="true" />
          </Link>
        ) : null}
        {needs ? (
          <MayButton needs={needs} className="button quiet icon small" aria-label={text.commands.editTitle(variable.name)} title={text.commands.edit} onClick={() => setEditing(true)}>
            <Pencil size={14} aria-hidden="true" />
          </MayButton>
        ) : null}
      </dd>
      {editing && !isCut ? <EditVariable variable={variable} value={value} ended={ended} incidents={incidents} close={() => setEditing(false)} /> : null}
    </div>
  );
}
