// One user, group, role, tenant or mapping rule: what it is, who belongs to it, and what is granted to it.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Owner } from "../../../api/authorizations";
import { type Entity, type Kind, MEMBERS, entity, erase } from "../../../api/identity";
import { rightsOnEntity } from "../../../api/rights";
import { MayButton } from "../../../parts/MayButton";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { Ask } from "../../../parts/Ask";
import { GrantsOf } from "../rights/GrantsOf";
import { isBuiltIn } from "./builtIn";
import { EntityForm } from "./EntityForm";
import { Members } from "./Members";

const t = text.admin;

/** As an owner of authorizations; tenants are none. */
const OWNERS: Partial<Record<Kind, Owner>> = { users: "USER", groups: "GROUP", roles: "ROLE", "mapping-rules": "MAPPING_RULE" };

export default function OneEntity({ kind, id }: { kind: Kind; id: string }) {
  const found = useQuery(entity(kind, id));
  const owner = OWNERS[kind];
  return (
    <div className="admin-one">
      <Link to="/admin/$section" params={{ section: kind }} search={{}} className="admin-back row">
        <ChevronLeft size={14} aria-hidden="true" />
        {t.back(kind)}
      </Link>
      {found.error?.isGone ? (
        <Note title={t.gone(kind)}>{id}</Note>
      ) : (
        <Shown query={found} rows={4}>
          {(each) => (
            <>
              <Head kind={kind} each={each} />
              {MEMBERS[kind].map((member) => (
                <Members key={member} kind={kind} id={id} member={member} />
              ))}
              {owner === undefined ? null : <GrantsOf ownerType={owner} ownerId={id} />}
            </>
          )}
        </Shown>
      )}
    </div>
  );
}

function Head({ kind, each }: { kind: Kind; each: Entity }) {
  const [asking, ask] = useState<"edit" | "erase">();
  const navigate = useNavigate();
  const rights = rightsOnEntity(kind, each.id);
  const facts = [
    [t.name, each.name],
    [t.email, each.email],
    [t.description, each.description],
    [t.claimName, each.claimName],
    [t.claimValue, each.claimValue],
  ] as const;
  return (
    <header className="admin-head">
      <div className="row wrap">
        <h2>{each.id}</h2>
        <span className="grow" />
        {isBuiltIn(kind, each.id) ? <span className="faint" title={t.builtInText}>{t.builtIn}</span> : (
          <>
            <MayButton needs={rights.edit} className="button small" onClick={() => ask("edit")}>
              <Pencil size={14} aria-hidden="true" />
              {t.editShort}
            </MayButton>
            <MayButton needs={rights.erase} className="button small" onClick={() => ask("erase")}>
              <Trash2 size={14} aria-hidden="true" />
              {t.erase}
            </MayButton>
          </>
        )}
      </div>
      <dl className="admin-facts">
        {facts.filter(([, value]) => value !== "").map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {asking === "edit" ? <EntityForm kind={kind} known={each} close={() => ask(undefined)} /> : null}
      {asking === "erase" ? (
        <Ask
          title={t.eraseTitle(kind, each.id)}
          hint={t.eraseText}
          go={t.erase}
          said={t.erased(each.id)}
          command={() => erase(kind, each.id)}
          close={() => ask(undefined)}
          then={() => void navigate({ to: "/admin/$section", params: { section: kind }, search: {} })}
        />
      ) : null}
    </header>
  );
}
