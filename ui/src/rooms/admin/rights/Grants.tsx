// All authorizations, by owner and by kind of resource.
import { Plus } from "lucide-react";
import { useState } from "react";
import { OWNERS, useGrants } from "../../../api/authorizations";
import { RIGHTS } from "../../../api/rights";
import { FindField } from "../../../parts/FindField";
import { MayButton } from "../../../parts/MayButton";
import { NextWindow } from "../../../parts/NextWindow";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { atLeast } from "../../../text/format";
import type { SectionProps } from "../page";
import { RESOURCE_TYPES } from "../permissions";
import { GrantForm } from "./GrantForm";
import { GrantTable } from "./GrantTable";

const t = text.admin;

export default function Grants({ search, change }: SectionProps) {
  const filter = {
    ...(search.type === undefined ? {} : { ownerType: search.type }),
    ...(search.id === undefined ? {} : { ownerId: search.id }),
    ...(search.resource === undefined ? {} : { resourceType: search.resource }),
  };
  const { query, list } = useGrants(filter, search.after);
  const [making, make] = useState(false);
  return (
    <section className="list" aria-label={t.sections.authorizations}>
      <div className="list-head">
        <select className="field" aria-label={t.ownerType} value={search.type ?? ""} onChange={(event) => change({ ...search, type: event.target.value || undefined })}>
          <option value="">{t.owner}</option>
          {OWNERS.map((each) => (
            <option key={each} value={each}>
              {t.owners[each]}
            </option>
          ))}
        </select>
        <FindField main label={t.ownerId} value={search.id ?? ""} set={(id) => change({ ...search, id })} className="admin-find" />
        <select className="field" aria-label={t.resourceType} value={search.resource ?? ""} onChange={(event) => change({ ...search, resource: event.target.value || undefined })}>
          <option value="">{t.resourceAny}</option>
          {RESOURCE_TYPES.map((each) => (
            <option key={each} value={each}>
              {text.words.kind(each)}
            </option>
          ))}
        </select>
        <b role="status">{query.data ? t.grants(atLeast(list.total, list.more), list.total === 1) : " "}</b>
        <span className="grow" />
        <MayButton needs={RIGHTS.grant} className="button small main" onClick={() => make(true)}>
          <Plus size={14} aria-hidden="true" />
          {t.grant}
        </MayButton>
      </div>
      <div className="admin-scroll">
        <Shown query={query} rows={6}>
          {() => (list.rows.length === 0 ? <Note title={t.grantsNone}>{t.noneText}</Note> : <GrantTable grants={list.rows} owners />)}
        </Shown>
        {query.hasNextPage ? (
          <button type="button" className="button small admin-more" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {text.words.more}
          </button>
        ) : null}
        <NextWindow next={list.next} />
      </div>
      {making ? <GrantForm close={() => make(false)} /> : null}
    </section>
  );
}
