// Authorizations as rows, each with what can be done with it.
import { Link } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { type Grant, type Owner, revoke } from "../../../api/authorizations";
import type { Kind } from "../../../api/identity";
import { GRANT_RIGHTS } from "../../../api/rights";
import { MayButton } from "../../../parts/MayButton";
import { text } from "../../../text";
import { Ask } from "../../../parts/Ask";
import { isBuiltIn } from "../entities/builtIn";
import { GrantForm } from "./GrantForm";

const t = text.admin;

const SECTIONS: Partial<Record<Owner, Kind>> = { USER: "users", GROUP: "groups", ROLE: "roles", MAPPING_RULE: "mapping-rules" };

function OwnerLink({ type, id }: { type: Owner; id: string }) {
  const section = SECTIONS[type];
  return (
    <span className="row admin-owner">
      <span className="faint">{t.owners[type] ?? type}</span>
      {section === undefined ? <span className="clip">{id}</span> : (
        <Link to="/admin/$section/$id" params={{ section, id }} search={{}} className="clip" title={id}>
          {id}
        </Link>
      )}
    </span>
  );
}

/** On which resource, in words. */
export function OnWhat({ resource, byProperty }: { resource: string; byProperty: boolean }) {
  if (byProperty) return <span className="faint">{t.onProperty(resource)}</span>;
  return resource === "*" ? <span className="faint">{t.onAll}</span> : <span className="mono clip" title={resource}>{resource}</span>;
}

const isByProperty = (each: Grant): boolean => each.resourcePropertyName !== null && each.resourcePropertyName !== "";
const resourceOf = (each: Grant): string => (isByProperty(each) ? each.resourcePropertyName : each.resourceId) ?? "*";

export function GrantTable({ grants, owners }: { grants: readonly Grant[]; owners: boolean }) {
  const [asked, ask] = useState<{ what: "edit" | "revoke"; of: Grant }>();
  const close = () => ask(undefined);
  return (
    <>
      <ul className={`grants${owners ? " with-owner" : ""}`}>
        {grants.map((each) => {
          const name = `${text.words.kind(each.resourceType)} ${resourceOf(each)}`;
          return (
            <li key={each.authorizationKey}>
              {owners ? <OwnerLink type={each.ownerType} id={each.ownerId} /> : null}
              <span className="row grant-on">
                <span>{text.words.kind(each.resourceType)}</span>
                <OnWhat resource={resourceOf(each)} byProperty={isByProperty(each)} />
              </span>
              <span className="grant-permissions">
                {each.permissionTypes.map((permission) => (
                  <span key={permission} className="grant-permission">
                    {permission}
                  </span>
                ))}
              </span>
              <span className="row grant-acts">
                {isBuiltIn(SECTIONS[each.ownerType], each.ownerId) ? null : (
                  <>
                    <MayButton needs={GRANT_RIGHTS.edit} className="button quiet icon small" aria-label={`${t.grantEdit}: ${name}`} title={t.grantEdit} onClick={() => ask({ what: "edit", of: each })}>
                      <Pencil size={14} aria-hidden="true" />
                    </MayButton>
                    <MayButton needs={GRANT_RIGHTS.erase} className="button quiet icon small" aria-label={`${t.revoke}: ${name}`} title={t.revoke} onClick={() => ask({ what: "revoke", of: each })}>
                      <Trash2 size={14} aria-hidden="true" />
                    </MayButton>
                  </>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {asked?.what === "edit" ? <GrantForm known={asked.of} close={close} /> : null}
      {asked?.what === "revoke" ? (
        <Ask
          title={t.revokeTitle}
          hint={t.revokeText(asked.of.ownerId, `${text.words.kind(asked.of.resourceType)} ${resourceOf(asked.of)}`)}
          go={t.revoke}
          said={t.revoked}
          command={() => revoke(asked.of.authorizationKey)}
          close={close}
        />
      ) : null}
    </>
  );
}
