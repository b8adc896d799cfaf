// Jobs: which types there are, what waits, and who asks for it.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { jobTypes, jobWork } from "../../api/jobs";
import { Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { PageTitle } from "../../parts/PageTitle";
import { SideBack } from "../../parts/SideBack";
import { SIDE_MOST, SideCut } from "../../parts/SideCut";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { OfType } from "./OfType";
import { Overview } from "./Overview";
import { type JobSearch, jobSearch } from "./search";
import { type Type, isAlone, joined } from "./types";
import "../../parts/list.css";
import { SideFind } from "../../parts/SideFind";
import "../../parts/sides.css";
import "./jobs.css";

const t = text.jobs;

export function Jobs() {
  const { type } = useParams({ strict: false });
  const search = jobSearch(useSearch({ strict: false }));
  const now = useNow();
  const counted = useQuery(jobTypes());
  const work = useQuery(jobWork());
  return (
    <>
      <PageTitle title={t.title} />
      <Shown query={work} rows={8}>
        {(asked) => {
          // The statistics only add to what is known now.
          const types = joined(counted.data?.items ?? [], asked, now);
          if (types.length === 0 && type === undefined) return <Note title={t.none}>{t.noneText}</Note>;
          const wanted = (search.find ?? "").toLowerCase();
          const matching = types.filter(({ name }) => name.toLowerCase().includes(wanted));
          return (
            <div className={`sides${type === undefined ? "" : " one"}`}>
              <Types types={matching} chosen={type} search={search} />
              {type === undefined ? null : <SideBack to="/jobs" search={{ find: search.find }}>{t.all}</SideBack>}
              {type === undefined ? (
                <Overview types={matching} work={asked} />
              ) : (
                <OfType key={type} type={type} search={search} known={types.find((each) => each.name === type)} since={asked.since} />
              )}
            </div>
          );
        }}
      </Shown>
    </>
  );
}

function Types({ types, chosen, search }: { types: readonly Type[]; chosen: string | undefined; search: JobSearch }) {
  const now = useNow();
  const navigate = useNavigate();
  return (
    <nav className="side" aria-label={t.types}>
      <SideFind label={t.find} value={search.find} set={(find) => void navigate({ to: ".", search: { ...search, find }, replace: true })} />
      <ul>
        {types.length === 0 ? <li className="side-none faint">{t.noMatch}</li> : null}
        {types.slice(0, SIDE_MOST).map((each) => (
          <li key={each.name}>
            <Link to="/jobs/$type" params={{ type: each.name }} search={{ find: search.find }} className="side-item" aria-current={each.name === chosen ? "page" : undefined}>
              <span className="clip mono" title={each.name}>
                {each.name}
              </span>
              {isAlone(each, now) ? (
                <span className="side-waiting" title={t.noWorkerHint}>
                  {t.noWorker}
                </span>
              ) : each.failed > 0 ? (
                <span className="side-bad figure">{t.failed(each.failed)}</span>
              ) : null}
            </Link>
          </li>
        ))}
        <SideCut total={types.length} />
      </ul>
    </nav>
  );
}
