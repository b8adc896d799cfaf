// Admin: who there is, what they may do, and what holds for the whole cluster.
import { Link, useParams, useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense, lazy } from "react";
import { useSession } from "../../api/session";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import type { AdminSearch } from "./search";
import { CLUSTER, IDENTITY, type Section, hasIdentity, isIdentity, isKind, sectionOf } from "./sections";
import "../../parts/chip.css";
import "../../parts/list.css";
import "./admin.css";

const t = text.admin;
const Entities = lazy(() => import("./entities/Entities"));
const OneEntity = lazy(() => import("./entities/OneEntity"));
const Grants = lazy(() => import("./rights/Grants"));
const Access = lazy(() => import("./rights/Access"));
const Variables = lazy(() => import("./cluster/Variables"));
const Listeners = lazy(() => import("./cluster/Listeners"));
const Usage = lazy(() => import("./cluster/Usage"));
const Audit = lazy(() => import("./cluster/Audit"));

/** What each section is given. */
export interface SectionProps {
  search: AdminSearch;
  change: (search: AdminSearch) => void;
}

export function Admin() {
  const { section: named, id } = useParams({ strict: false });
  const search: AdminSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const identity = hasIdentity(useSession());
  const section = sectionOf(named) ?? (identity ? "users" : "variables");
  const change = (next: AdminSearch) => void navigate({ to: ".", search: { ...next, after: undefined }, replace: true });
  return (
    <div className="admin">
      <PageTitle title={t.sections[section]} />
      <Sections chosen={section} identity={identity} />
      <div className="admin-body">
        <Suspense fallback={<Skeleton rows={6} />}>
          {isIdentity(section) && !identity ? <Note title={t.absent}>{t.absentText}</Note> : <Chosen key={section} section={section} id={id} search={search} change={change} />}
        </Suspense>
      </div>
    </div>
  );
}

function Chosen({ section, id, ...props }: SectionProps & { section: Section; id: string | undefined }) {
  if (isKind(section)) return id === undefined ? <Entities kind={section} {...props} /> : <OneEntity key={id} kind={section} id={id} />;
  if (section === "authorizations") return <Grants {...props} />;
  if (section === "access") return <Access {...props} />;
  if (section === "variables") return <Variables {...props} />;
  if (section === "listeners") return <Listeners />;
  return section === "usage" ? <Usage {...props} /> : <Audit {...props} />;
}

function Sections({ chosen, identity }: { chosen: Section; identity: boolean }) {
  const navigate = useNavigate();
  const groups = [...(identity ? [[t.identity, IDENTITY] as const] : []), [t.cluster, CLUSTER] as const];
  return (
    <>
      <nav className="admin-nav" aria-label={t.sectionLabel}>
        {groups.map(([name, sections]) => (
          <div key={name}>
            <p className="label">{name}</p>
            <ul>
              {sections.map((each) => (
                <li key={each}>
                  <Link to="/admin/$section" params={{ section: each }} search={{}} className="admin-link" aria-current={each === chosen ? "page" : undefined}>
                    {t.sections[each]}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      {/* On phones there is no room for a list beside. */}
      <div className="admin-pick">
        <select className="field" aria-label={t.sectionLabel} value={chosen} onChange={(event) => void navigate({ to: "/admin/$section", params: { section: event.target.value }, search: {} })}>
          {groups.map(([name, sections]) => (
            <optgroup key={name} label={name}>
              {sections.map((each) => (
                <option key={each} value={each}>
                  {t.sections[each]}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </div>
    </>
  );
}
