// Grants somebody something, or changes what is granted.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type Grant, type NewGrant, OWNERS, type Owner, changeGrant, grant } from "../../../api/authorizations";
import { type Kind, firstOf } from "../../../api/identity";
import { Dialog } from "../../../parts/Dialog";
import { text } from "../../../text";
import { useAct } from "../../../parts/act";
import { Field } from "../Field";
import { RESOURCES, RESOURCE_TYPES, permissionsOf } from "../permissions";

const t = text.admin;
const KINDS: Partial<Record<Owner, Kind>> = { USER: "users", GROUP: "groups", ROLE: "roles", MAPPING_RULE: "mapping-rules" };
const FIRST = "PROCESS_DEFINITION";

interface GrantFormProps {
  known?: Grant;
  owner?: { ownerType: Owner; ownerId: string };
  close: () => void;
}

const isOn = (type: string, id: string): boolean => RESOURCES[type]?.all !== true || id === "*";

export function GrantForm({ known, owner, close }: GrantFormProps) {
  const [each, setEach] = useState<NewGrant>(known ?? { ownerType: "USER", ownerId: "", ...owner, resourceType: FIRST, resourceId: "*", resourcePropertyName: null, permissionTypes: [] });
  const { busy, act } = useAct();
  const set = (part: Partial<NewGrant>) => setEach({ ...each, ...part });
  const fixed = known !== undefined || owner !== undefined;
  const resource = each.resourcePropertyName ?? each.resourceId ?? "";
  const ready = each.ownerId.trim() !== "" && resource !== "" && each.permissionTypes.length > 0 && (each.resourcePropertyName !== null || isOn(each.resourceType, resource));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    const sent = { ...each, ownerId: each.ownerId.trim() };
    const done = await (known === undefined ? act(() => grant(sent), t.granted) : act(() => changeGrant({ ...sent, authorizationKey: known.authorizationKey }), t.grantSaved));
    if (done) close();
  };
  return (
    <Dialog title={known === undefined ? t.grant : t.grantEdit} isOpen close={close} wide>
      <form className="admin-form" onSubmit={(event) => void submit(event)}>
        {fixed ? <p className="muted">{`${t.owner}: ${t.owners[each.ownerType] ?? each.ownerType} ${each.ownerId}`}</p> : <WhoFields type={each.ownerType} id={each.ownerId} set={(ownerType, ownerId) => set({ ownerType, ownerId })} />}
        <label>
          <span className="label">{t.resourceType}</span>
          <select className="field" value={each.resourceType} onChange={(event) => set({ resourceType: event.target.value, resourceId: "*", resourcePropertyName: null, permissionTypes: [] })}>
            {[...new Set([...RESOURCE_TYPES, each.resourceType])].map((type) => (
              <option key={type} value={type}>
                {text.words.kind(type)}
              </option>
            ))}
          </select>
        </label>
        <OnFields each={each} set={set} />
        <Permissions type={each.resourceType} chosen={each.permissionTypes} set={(permissionTypes) => set({ permissionTypes })} />
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!ready || busy}>
            {known === undefined ? t.grant : t.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Of which kind, and who. */
export function WhoFields({ type, id, set }: { type: Owner; id: string; set: (type: Owner, id: string) => void }) {
  const kind = KINDS[type];
  const known = useQuery({ ...firstOf(kind ?? "users"), enabled: kind !== undefined });
  return (
    <div className="admin-two">
      <label>
        <span className="label">{t.ownerType}</span>
        <select className="field" value={type} onChange={(event) => set(OWNERS.find((each) => each === event.target.value) ?? "USER", "")}>
          {OWNERS.map((each) => (
            <option key={each} value={each}>
              {t.owners[each]}
            </option>
          ))}
        </select>
      </label>
      <Field label={t.ownerId} value={id} set={(next) => set(type, next)} mono list={kind === undefined ? undefined : known.data?.items.map((each) => each.id)} />
    </div>
  );
}

/** On all of a kind, on one, or on tasks that a property names. */
function OnFields({ each, set }: { each: NewGrant; set: (part: Partial<NewGrant>) => void }) {
  const { all, properties = [] } = RESOURCES[each.resourceType] ?? {};
  if (all) return <p className="faint">{`${t.on}: ${t.onAll}`}</p>;
  const how = each.resourcePropertyName ?? (each.resourceId === "*" ? "*" : "id");
  const choose = (value: string) => set(value === "*" ? { resourceId: "*", resourcePropertyName: null } : value === "id" ? { resourceId: "", resourcePropertyName: null } : { resourceId: null, resourcePropertyName: value });
  return (
    <div className="admin-two">
      <label>
        <span className="label">{t.onWhich}</span>
        <select className="field" value={how} onChange={(event) => choose(event.target.value)}>
          <option value="*">{t.onAll}</option>
          <option value="id">{t.onIds}</option>
          {properties.map((name) => (
            <option key={name} value={name}>
              {t.onProperty(name)}
            </option>
          ))}
        </select>
      </label>
      {how === "id" ? <Field label={t.resourceId} value={each.resourceId ?? ""} set={(resourceId) => set({ resourceId })} mono autoFocus /> : null}
    </div>
  );
}

function Permissions({ type, chosen, set }: { type: string; chosen: readonly string[]; set: (chosen: string[]) => void }) {
  const all = permissionsOf(type, chosen);
  return (
    <fieldset className="admin-permissions">
      <legend className="label">{t.permissions}</legend>
      {all.map((each) => (
        <label key={each} className="row">
          <input type="checkbox" checked={chosen.includes(each)} onChange={(event) => set(event.target.checked ? all.filter((other) => other === each || chosen.includes(other)) : chosen.filter((other) => other !== each))} />
          <span className="clip" title={each}>
            {each}
          </span>
        </label>
      ))}
      {chosen.length === 0 ? <p className="faint">{t.permissionsNone}</p> : null}
    </fieldset>
  );
}
