// A cluster variable, as JSON text: its numbers keep their digits.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { firstOf } from "../../../api/identity";
import { once } from "../../../api/live";
import { useSession } from "../../../api/session";
import { type ClusterVariable, addClusterVariable, setClusterVariable, wholeClusterVariable } from "../../../api/settings";
import { CodeField } from "../../../parts/code/CodeField";
import { Dialog } from "../../../parts/Dialog";
import { jsonError, prettyJson } from "../../../parts/json";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { useAct } from "../../../parts/act";
import { isId } from "../entities/EntityForm";
import { Field } from "../Field";
import { hasIdentity } from "../sections";

const t = text.admin;
const c = text.commands;

export function VariableForm({ known, close }: { known?: ClusterVariable; close: () => void }) {
  const [opened] = useState(() => Date.now());
  const whole = useQuery({ ...once(["admin", "variable", known?.tenantId, known?.name, opened], () => wholeClusterVariable(known?.tenantId ?? null, known?.name ?? "")), enabled: known !== undefined });
  return (
    <Dialog title={known === undefined ? t.variable : t.variableEdit(known.name)} isOpen close={close} wide>
      {known === undefined ? <Fields close={close} /> : <Shown query={whole} rows={2} small>{(value) => <Fields known={known} value={value} close={close} />}</Shown>}
    </Dialog>
  );
}

function Fields({ known, value = "", close }: { known?: ClusterVariable; value?: string; close: () => void }) {
  const [name, setName] = useState(known?.name ?? "");
  const [tenant, setTenant] = useState(known?.tenantId ?? "");
  const [writing, write] = useState(value === "" ? "" : prettyJson(value));
  const { busy, act } = useAct();
  const identity = hasIdentity(useSession());
  const tenants = useQuery({ ...firstOf("tenants"), enabled: identity && known === undefined });
  const error = writing.trim() === "" ? undefined : writing.trim() === "null" ? t.nullBad : (jsonError(writing) && c.invalid(jsonError(writing) ?? ""));
  const ready = isId(name) && writing.trim() !== "" && error === undefined;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    const of = tenant === "" ? null : tenant;
    const done = await (known === undefined ? act(() => addClusterVariable(of, name, writing), t.created(name)) : act(() => setClusterVariable(of, name, writing), t.saved(name)));
    if (done) close();
  };
  return (
    <form className="admin-form" onSubmit={(event) => void submit(event)}>
      {known === undefined ? (
        <div className="admin-two">
          <Field label={t.variableName} value={name} set={setName} mono autoFocus bad={name === "" || isId(name) ? undefined : t.idBad} />
          {tenants.data && tenants.data.items.length > 0 ? (
            <label>
              <span className="label">{t.variableScope}</span>
              <select className="field" value={tenant} onChange={(event) => setTenant(event.target.value)}>
                <option value="">{t.variableGlobal}</option>
                {tenants.data.items.map(({ id }) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            </label>
          ) : null}
        </div>
      ) : null}
      <label>
        <span className="label">{t.variableValue}</span>
        <CodeField language="json" autoFocus={known !== undefined} rows={[4, 16]} value={writing} invalid={error !== undefined} write={write} />
      </label>
      <p className={error === undefined ? "faint" : "bad"} role={error === undefined ? undefined : "alert"}>
        {error ?? c.valueHint}
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {text.words.cancel}
        </button>
        <button type="submit" className="button main" disabled={!ready || busy}>
          {c.save}
        </button>
      </div>
    </form>
  );
}
