// The errors, those of the most instances first; with a field to find one among many.
import { Link, getRouteApi } from "@tanstack/react-router";
import type { ErrorGroup } from "../../api/incidents";
import { SIDE_MOST, SideCut } from "../../parts/SideCut";
import { SideFind } from "../../parts/SideFind";
import { text } from "../../text";
import { compact } from "../../text/format";
import type { IncidentSearch } from "./search";

const route = getRouteApi("/incidents");
const t = text.incidents;

export function ErrorList({ errors, search }: { errors: readonly ErrorGroup[]; search: IncidentSearch }) {
  const navigate = route.useNavigate();
  const wanted = (search.find ?? "").toLowerCase();
  const shown = errors.filter((each) => each.errorMessage.toLowerCase().includes(wanted));
  return (
    <nav className="side" aria-label={t.errors}>
      <SideFind label={t.filter} value={search.find} set={(find) => void navigate({ search: { ...search, find }, replace: true })} />
      <ul>
        <li>
          <Link to="/incidents" search={{ find: search.find, sort: search.sort }} className="side-item" activeOptions={{ exact: true }} aria-current={search.error === undefined ? "page" : undefined}>
            <span className="error-words">{t.allErrors}</span>
          </Link>
        </li>
        {shown.length === 0 && wanted !== "" ? <li className="side-none faint">{t.noMatch}</li> : null}
        {shown.slice(0, SIDE_MOST).map((each) => {
          const id = String(each.errorHashCode);
          return (
            <li key={id}>
              <Link to="/incidents" search={{ find: search.find, sort: search.sort, error: id }} className="side-item" aria-current={search.error === id ? "page" : undefined}>
                <span className="error-words" title={each.errorMessage}>
                  {each.errorMessage}
                </span>
                <span className="side-bad figure">{compact(each.activeInstancesWithErrorCount)}</span>
              </Link>
            </li>
          );
        })}
        <SideCut total={shown.length} />
      </ul>
    </nav>
  );
}
