// Decisions: which there are, what they came to, their tables, and a place to try them.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy } from "react";
import { type Decision, decisions, formerDecisions } from "../../api/decisions";
import { leftOver } from "../../api/leftover";
import { Deleted } from "../../parts/Deleted";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { SideBack } from "../../parts/SideBack";
import { Shown, Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import { Evaluations } from "./Evaluations";
import type { DecisionSearch } from "./search";
import "../../parts/list.css";
import { SIDE_MOST, SideCut } from "../../parts/SideCut";
import { SideFind } from "../../parts/SideFind";
import "../../parts/sides.css";
import "../../parts/tabs.css";
import "./decisions.css";

const OneDecision = lazy(() => import("./OneDecision"));
const route = getRouteApi("/decisions");
const t = text.decisions;

export function Decisions() {
  const search = route.useSearch();
  const found = useQuery(decisions());
  const former = useQuery(formerDecisions()).data;
  return (
    <>
      <PageTitle title={t.title} />
      <Shown query={found} rows={8}>
        {({ items, page }) => {
          const gone = page.totalItems > items.length ? [] : leftOver(former?.items ?? [], items, decisionOf);
          return items.length + gone.length === 0 ? (
            <Note title={t.none} limited>{t.noneText}</Note>
          ) : (
            <div className={`sides${search.decision === undefined ? "" : " one"}`}>
              <Side decisions={[...items, ...gone]} gone={new Set(gone)} search={search} />
              {search.decision === undefined ? null : <SideBack to="/decisions" search={{ find: search.find }}>{t.all}</SideBack>}
              {search.decision === undefined ? (
                <section className="list" aria-label={t.evaluations}>
                  <Evaluations search={search} filter={{}} />
                </section>
              ) : (
                <Suspense fallback={<Skeleton rows={6} />}>
                  <OneDecision key={search.decision} id={search.decision} search={search} />
                </Suspense>
              )}
            </div>
          );
        }}
      </Shown>
    </>
  );
}

const decisionOf = ({ tenantId, decisionDefinitionId }: Decision) => JSON.stringify([tenantId, decisionDefinitionId]);

interface SideProps {
  decisions: readonly Decision[];
  gone: ReadonlySet<Decision>;
  search: DecisionSearch;
}

function Side({ decisions: all, gone, search }: SideProps) {
  const navigate = route.useNavigate();
  const wanted = (search.find ?? "").toLowerCase();
  const shown = all.filter((each) => `${each.name} ${each.decisionDefinitionId}`.toLowerCase().includes(wanted));
  return (
    <nav className="side" aria-label={t.listed}>
      <SideFind label={t.find} value={search.find} set={(find) => void navigate({ search: { ...search, find }, replace: true })} />
      <ul>
        <li>
          <Link to="/decisions" search={{ find: search.find }} className="side-item" data-row="" activeOptions={{ exact: true }} aria-current={search.decision === undefined ? "page" : undefined}>
            {t.all}
          </Link>
        </li>
        {shown.length === 0 ? <li className="side-none faint">{t.noMatch}</li> : null}
        {shown.slice(0, SIDE_MOST).map((each) => (
          <li key={each.decisionDefinitionKey}>
            <Link to="/decisions" search={{ find: search.find, decision: each.decisionDefinitionId, tab: search.tab }} className="side-item" data-row="" aria-current={search.decision === each.decisionDefinitionId ? "page" : undefined}>
              <span className="clip" title={each.decisionDefinitionId}>
                {each.name}
              </span>
              {gone.has(each) ? (
                <Deleted of="decision" />
              ) : (
                <span className="faint clip decision-of" title={each.decisionRequirementsName}>
                  {each.decisionRequirementsName}
                </span>
              )}
            </Link>
          </li>
        ))}
        <SideCut total={shown.length} />
      </ul>
    </nav>
  );
}
