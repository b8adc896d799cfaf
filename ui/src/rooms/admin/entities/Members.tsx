// Who belongs to a group, a role or a tenant.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Kind, type Member, firstOf, join, members, part } from "../../../api/identity";
import { rightsOnEntity } from "../../../api/rights";
import { Dialog } from "../../../parts/Dialog";
import { MayButton } from "../../../parts/MayButton";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { useAct } from "../../../parts/act";
import { Field } from "../Field";

const t = text.admin;

interface MembersProps {
  kind: Kind;
  id: string;
  member: Member;
}

export function Members({ kind, id, member }: MembersProps) {
  const found = useQuery(members(kind, id, member));
  const [adding, add] = useState(false);
  const { busy, act } = useAct();
  const { edit } = rightsOnEntity(kind, id);
  const button = (
    <MayButton needs={edit} className="button small" aria-label={t.add(member)} onClick={() => add(true)}>
      <Plus size={14} aria-hidden="true" />
      {t.addShort}
    </MayButton>
  );
  return (
    <Panel title={t.members[member]} aside={found.data ? number(found.data.page.totalItems) : undefined} actions={button}>
      <Shown query={found} rows={1} small>
        {({ items }) =>
          items.length === 0 ? (
            <p className="admin-none faint">{t.membersNone}</p>
          ) : (
            <ul className="admin-members">
              {items.map((each) => (
                <li key={each.id} className="chip">
                  {member === "clients" ? (
                    <span className="clip">{each.id}</span>
                  ) : (
                    <Link to="/admin/$section/$id" params={{ section: member, id: each.id }} search={{}} className="clip" title={each.id}>
                      {each.id}
                    </Link>
                  )}
                  <MayButton needs={edit} aria-label={t.remove(each.id)} disabled={busy} onClick={() => void act(() => part(kind, id, member, each.id), t.removed(each.id))}>
                    <X size={12} aria-hidden="true" />
                  </MayButton>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
      {adding ? <Add kind={kind} id={id} member={member} close={() => add(false)} /> : null}
    </Panel>
  );
}

function Add({ kind, id, member, close }: MembersProps & { close: () => void }) {
  const [who, setWho] = useState("");
  const { busy, act } = useAct();
  const known = useQuery({ ...firstOf(member === "clients" ? "users" : member), enabled: member !== "clients" });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (who.trim() !== "" && (await act(() => join(kind, id, member, who.trim()), t.added(who.trim())))) close();
  };
  return (
    <Dialog title={t.add(member)} isOpen close={close}>
      <form className="admin-form" onSubmit={(event) => void submit(event)}>
        <Field label={member === "clients" ? t.members.clients : t.id[member]} value={who} set={setWho} mono autoFocus list={member === "clients" ? undefined : known.data?.items.map((each) => each.id)} />
        <div className="dialog-actions">
          <button type="button" className="button" onClick={close}>
            {text.words.cancel}
          </button>
          <button type="submit" className="button main" disabled={who.trim() === "" || busy}>
            {t.addShort}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
