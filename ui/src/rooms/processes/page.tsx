// Processes: which instances there are, where they stand, and what is done with many of them.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, useEffect, useMemo } from "react";
import { versions } from "../../api/processes";
import { fetchDiagram } from "../../parts/diagram";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Skeleton } from "../../parts/Shown";
import { Splitter } from "../../parts/Splitter";
import { text } from "../../text";
import { Drawing } from "./Drawing";
import { FilterBar } from "./FilterBar";
import { filterOf } from "./filter";
import { drawnOf } from "./first";
import { InstanceList } from "./InstanceList";
import type { ProcessSearch } from "./search";
import "../../parts/chip.css";
import "./processes.css";

const Versions = lazy(() => import("./Versions"));
const route = getRouteApi("/processes");
const t = text.processes;

export function Processes() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: ProcessSearch) => void navigate({ search: { ...next, after: undefined }, replace: true });
  const filter = useMemo(() => filterOf(search), [search]);
  const draws = search.process !== undefined;
  useEffect(() => (draws ? fetchDiagram() : undefined), [draws]);
  const known = useQuery({ ...versions(search.process ?? ""), enabled: search.process !== undefined });
  const drawn = drawnOf(known.data?.items ?? [], search);
  const other = search.version === undefined || search.versus === undefined || search.versus === search.version ? undefined : known.data?.items.find((each) => String(each.version) === search.versus);
  const one = (search.version !== undefined && search.versus === undefined) || known.data?.items.length === 1;
  const list = <InstanceList search={search} filter={filter} change={change} of={one ? drawn : undefined} drawn={search.process === undefined ? undefined : drawn} />;
  return (
    <div className="processes">
      <PageTitle title={t.title} />
      <FilterBar search={search} change={change} versions={search.process === undefined ? [] : (known.data?.items ?? [])} />
      {known.data && drawn === undefined ? <Absent search={search} change={change} of={known.data.items.length} /> : null}
      {/* From the start where it will be: the list would else begin anew, with what was opened in it, when the drawing comes. */}
      {draws && (drawn || known.isPending) ? (
        <Splitter
          name="processes"
          label={text.instance.resize}
          initial={320}
          above={
            <Suspense fallback={<Skeleton rows={3} />}>
              {drawn === undefined ? (
                <Skeleton rows={3} />
              ) : other ? (
                <Versions one={drawn} other={other} search={search} filter={filter} change={change} />
              ) : (
                <Drawing definition={drawn} search={search} filter={filter} change={change} all={search.version === undefined && (known.data?.items.length ?? 0) > 1} />
              )}
            </Suspense>
          }
        >
          {list}
        </Splitter>
      ) : (
        list
      )}
    </div>
  );
}

/** A link may be older than a deletion; and what is open may be deleted. */
function Absent({ search, change, of }: { search: ProcessSearch; change: (search: ProcessSearch) => void; of: number }) {
  const isVersion = of > 0 && search.version !== undefined;
  const others = { ...search, version: undefined, versus: undefined, element: undefined };
  return (
    <Note
      title={isVersion ? t.noVersion(search.version ?? "") : t.noProcess(search.process ?? "")}
      actions={
        <button type="button" className="button small" onClick={() => change(isVersion ? others : { ...others, process: undefined })}>
          {isVersion ? t.allVersions : t.allProcesses}
        </button>
      }
      limited
    >
      {t.absentText}
    </Note>
  );
}
