// What is granted to one owner, beside what it is.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { type Owner, grantsOf } from "../../../api/authorizations";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { number } from "../../../text/format";
import { isBuiltIn } from "../entities/builtIn";
import { GrantForm } from "./GrantForm";
import { GrantTable } from "./GrantTable";

const t = text.admin;

export function GrantsOf({ ownerType, ownerId }: { ownerType: Owner; ownerId: string }) {
  const found = useQuery(grantsOf(ownerType, ownerId));
  const [making, make] = useState(false);
  return (
    <Panel
      title={t.rights}
      aside={found.data ? number(found.data.page.totalItems) : undefined}
      actions={
        <>
          <Link to="/admin/$section" params={{ section: "access" }} search={{ type: ownerType, id: ownerId }} className="button small quiet">
            {t.why}
          </Link>
          {ownerType === "ROLE" && isBuiltIn("roles", ownerId) ? null : (
            <button type="button" className="button small" onClick={() => make(true)}>
              <Plus size={14} aria-hidden="true" />
              {t.grant}
            </button>
          )}
        </>
      }
    >
      <Shown query={found} rows={1} small>
        {({ items }) => (items.length === 0 ? <p className="admin-none faint">{t.rightsNone}</p> : <GrantTable grants={items} owners={false} />)}
      </Shown>
      {making ? <GrantForm owner={{ ownerType, ownerId }} close={() => make(false)} /> : null}
    </Panel>
  );
}
