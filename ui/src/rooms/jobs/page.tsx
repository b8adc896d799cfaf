// Jobs: which types there are, who works on them, and what waits.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type JobType, jobTypes } from "../../api/jobs";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { OfType } from "./OfType";
import { type JobSearch, jobSearch } from "./search";
import "../../parts/list.css";
import "../../parts/sides.css";
import "./jobs.css";

const t = text.jobs;

export function Jobs() {
  const { type } = useParams({ strict: false });
  const search = jobSearch(useSearch({ strict: false }));
  const types = useQuery(jobTypes());
  return (
    <>
      <PageTitle title={t.title} />
      <Shown query={types} rows={8}>
        {({ items }) =>
          items.length === 0 && type === undefined ? (
            <Note title={t.none}>{t.noneText}</Note>
          ) : (
            <div className={`sides${type === undefined ? "" : " one"}`}>
              <Types types={items} chosen={type} search={search} />
              {type === undefined ? <Note title={t.choose} /> : <OfType key={type} type={type} search={search} />}
            </div>
          )
        }
      </Shown>
    </>
  );
}

/** Those that fail first, then those without workers, then by name. */
const order = (a: JobType, b: JobType): number =>
  b.failed.count - a.failed.count || Number(b.workers === 0) - Number(a.workers === 0) || a.jobType.localeCompare(b.jobType);

function Types({ types, chosen, search }: { types: readonly JobType[]; chosen: string | undefined; search: JobSearch }) {
  const navigate = useNavigate();
  const wanted = (search.find ?? "").toLowerCase();
  const shown = types.filter((each) => each.jobType.toLowerCase().includes(wanted)).toSorted(order);
  return (
    <nav className="side" aria-label={t.types}>
      <div className="side-find">
        <input
          className="field"
          type="search"
          data-filter=""
          placeholder={t.find}
          aria-label={t.find}
          value={search.find ?? ""}
          onChange={(event) => void navigate({ to: ".", search: { ...search, find: event.target.value || undefined }, replace: true })}
        />
      </div>
      <ul>
        {shown.length === 0 ? <li className="side-none faint">{t.noMatch}</li> : null}
        {shown.slice(0, 500).map((each) => (
          <li key={each.jobType}>
            <Link to="/jobs/$type" params={{ type: each.jobType }} search={{ find: search.find }} className="side-item" aria-current={each.jobType === chosen ? "page" : undefined}>
              <span className="clip mono" title={each.jobType}>
                {each.jobType}
              </span>
              {each.failed.count > 0 ? <span className="side-bad figure">{t.failed(each.failed.count)}</span> : null}
              {each.failed.count === 0 && each.workers === 0 ? (
                <span className="side-waiting" title={t.noWorkerHint}>
                  {t.noWorker}
                </span>
              ) : null}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
