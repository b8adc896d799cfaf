// Makes one of a kind, or changes what can be changed of it.
import { type FormEvent, useState } from "react";
import { type Entity, type Kind, create, update } from "../../../api/identity";
import { Dialog } from "../../../parts/Dialog";
import { text } from "../../../text";
import { useAct } from "../../../parts/act";
import { Field } from "../Field";

const t = text.admin;
const EMPTY: Entity = { id: "", name: "", description: "", email: "", claimName: "", claimValue: "" };

export const isId = (id: string): boolean => /^[a-zA-Z0-9_~@.+-]{1,256}$/.test(id);

/** What has to be there beside the id. */
const needs = (kind: Kind): readonly (keyof Entity)[] => (kind === "users" ? [] : kind === "mapping-rules" ? ["name", "claimName", "claimValue"] : ["name"]);

export function EntityForm({ kind, known, close }: { kind: Kind; known?: Entity; close: () => void }) {
  const [each, setEach] = useState(known ?? EMPTY);
  const [password, setPassword] = useState("");
  const { busy, act } = useAct();
  const set = (part: Partial<Entity>) => setEach({ ...each, ...part });
  const badId = known !== undefined || each.id === "" || isId(each.id) ? undefined : t.idBad;
  const ready = each.id !== "" && badId === undefined && needs(kind).every((name) => each[name].trim() !== "") && (kind !== "users" || known !== undefined || password !== "");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    const done = await (known === undefined ? act(() => create(kind, each, password), t.created(each.id)) : act(() => update(kind, each, password), t.saved(each.id)));
    if (done) close();
  };
  return (
    <Dialog title={known === undefined ? t.create(kind) : t.edit(kind)} isOpen close={close}>
      <form className="admin-form" autoComplete="off" onSubmit={(event) => void submit(event)}>
        <Field label={t.id[kind]} value={each.id} set={(id) => set({ id })} mono readOnly={known !== undefined} autoFocus={known === undefined} hint={known === undefined ? t.idText : undefined} bad={badId} />
        <Field label={t.name} value={each.name} set={(name) => set({ name })} autoFocus={known !== undefined} />
        {kind === "users" ? (
          <>
            <Field label={t.email} type="email" value={each.email} set={(email) => set({ email })} />
            <Field label={known === undefined ? t.password : t.passwordNew} type="password" autoComplete="new-password" value={password} set={setPassword} hint={known === undefined ? undefined : t.passwordText} />
          </>
        ) : kind === "mapping-rules" ? (
          <>
            <Field label={t.claimName} value={each.claimName} set={(claimName) => set({ claimName })} mono hint={t.claimNameText} />
            <Field label={t.claimValue} value={each.claimValue} set={(claimValue) => set({ claimValue })} mono />
          </>
        ) : (
          <Field label={t.description} value={each.description} set={(description) => set({ description })} />
        )}
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!ready || busy}>
            {known === undefined ? t.create(kind) : t.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
