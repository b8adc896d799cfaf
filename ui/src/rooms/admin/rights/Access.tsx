// What somebody may do, and why.
import { useQuery } from "@tanstack/react-query";
import { OWNERS, type Owner } from "../../../api/authorizations";
import { Note } from "../../../parts/Note";
import { Shown } from "../../../parts/Shown";
import { text } from "../../../text";
import { MOST, type Right, type Source, access } from "../access";
import type { SectionProps } from "../page";
import { WhoFields } from "./GrantForm";
import { OnWhat } from "./GrantTable";

const t = text.admin;

export default function AccessPage({ search, change }: SectionProps) {
  const type = OWNERS.find((each) => each === search.type) ?? "USER";
  const id = search.id?.trim() ?? "";
  return (
    <section className="admin-one" aria-label={t.sections.access}>
      <p className="muted">{t.accessText}</p>
      <div className="admin-who">
        <WhoFields type={type} id={search.id ?? ""} set={(nextType, nextId) => change({ ...search, type: nextType, id: nextId || undefined })} />
      </div>
      {id === "" ? <Note title={t.accessChoose}>{t.accessChooseText}</Note> : <Found key={`${type} ${id}`} type={type} id={id} />}
    </section>
  );
}

function Found({ type, id }: { type: Owner; id: string }) {
  const found = useQuery(access(type, id));
  return (
    <Shown query={found} rows={5}>
      {({ rights, cut }) => (
        <>
          {cut ? <p className="faint">{t.accessCut(MOST)}</p> : null}
          {rights.length === 0 ? <Note title={t.accessNone}>{t.accessNoneText(id)}</Note> : <Rights rights={rights} />}
        </>
      )}
    </Shown>
  );
}

function reason({ ownerType, ownerId, through, own }: Source): string {
  if (own) return t.directly;
  return through === undefined ? t.by(t.owners[ownerType] ?? ownerType, ownerId) : t.byThrough(ownerId, through);
}

function Rights({ rights }: { rights: readonly Right[] }) {
  return (
    <div className="rights-scroll">
      <table className="rights">
        <thead>
          <tr>
            <th>{t.resource}</th>
            <th>{t.on}</th>
            <th>{t.permissions}</th>
            <th>{t.because}</th>
          </tr>
        </thead>
        <tbody>{rights.flatMap((right) => byReasons(right).map(({ permissions, sources }, row) => <Line key={`${right.resourceType} ${right.resource} ${String(right.byProperty)} ${String(row)}`} right={right} first={row === 0} permissions={permissions} sources={sources} />))}</tbody>
      </table>
    </div>
  );
}

/** Permissions with the same reasons stand together. */
function byReasons(right: Right): { permissions: string[]; sources: readonly Source[] }[] {
  const found = new Map<string, { permissions: string[]; sources: readonly Source[] }>();
  for (const [permission, sources] of right.permissions) {
    const name = JSON.stringify(sources);
    const known = found.get(name) ?? { permissions: [], sources };
    known.permissions.push(permission);
    found.set(name, known);
  }
  return [...found.values()];
}

function Line({ right, first, permissions, sources }: { right: Right; first: boolean; permissions: readonly string[]; sources: readonly Source[] }) {
  return (
    <tr className={first ? "first" : undefined}>
      <td>{first ? text.words.kind(right.resourceType) : null}</td>
      <td>{first ? <OnWhat resource={right.resource} byProperty={right.byProperty} /> : null}</td>
      <td>
        <span className="grant-permissions">
          {permissions.map((each) => (
            <span key={each} className="grant-permission">
              {each}
            </span>
          ))}
        </span>
      </td>
      <td>{sources.map(reason).join("; ")}</td>
    </tr>
  );
}
