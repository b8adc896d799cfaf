// Incidents: which errors there are, in which processes, and another try for one or for all of them.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import { byError, lastResolved } from "../../api/incidents";
import { Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { PageTitle } from "../../parts/PageTitle";
import { SideBack } from "../../parts/SideBack";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";
import { fromNow } from "../../text/format";
import { ErrorList } from "./ErrorList";
import { OfError } from "./OfError";
import "../../parts/list.css";
import "../../parts/sides.css";
import "./incidents.css";

const route = getRouteApi("/incidents");
const t = text.incidents;

export function Incidents() {
  const search = route.useSearch();
  const errors = useQuery(byError());
  const chosen = errors.data?.items.find((each) => String(each.errorHashCode) === search.error);
  return (
    <>
      <PageTitle title={t.title} />
      <Shown query={errors} rows={8}>
        {({ items }) =>
          items.length === 0 && search.error === undefined ? (
            <None />
          ) : (
            <div className={`sides${search.error === undefined ? "" : " one"}`}>
              <ErrorList errors={items} search={search} />
              {search.error === undefined ? null : <SideBack to="/incidents" search={{ find: search.find, sort: search.sort }}>{t.allErrors}</SideBack>}
              {search.error !== undefined && chosen === undefined ? (
                <Note icon={<CircleCheck size={20} strokeWidth={1.75} />} title={t.gone}>
                  {t.goneText}
                </Note>
              ) : (
                <OfError error={chosen} search={search} />
              )}
            </div>
          )
        }
      </Shown>
    </>
  );
}

function None() {
  const last = useQuery(lastResolved()).data?.items[0];
  const now = useNow();
  return (
    <Note icon={<CircleCheck size={20} strokeWidth={1.75} />} title={t.none} limited>
      {t.noneText}
      {last ? ` ${t.noneLast(fromNow(last.creationTime, now))}` : ""}
    </Note>
  );
}
