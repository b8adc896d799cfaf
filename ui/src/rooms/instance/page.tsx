// One process instance: why it does not go on, first; then where it is, what happened, and with which data.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, useEffect, useRef } from "react";
import { type Instance as One, instance } from "../../api/instances";
import { type InstanceKey, asKey } from "../../api/keys";
import { afterCommand, queries } from "../../api/live";
import { definition } from "../../api/processes";
import { fetchDiagram } from "../../parts/diagram";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { Shown, Skeleton } from "../../parts/Shown";
import { Splitter } from "../../parts/Splitter";
import { text } from "../../text";
import { Details } from "./Details";
import { Drawing } from "./Drawing";
import { Head } from "./Head";
import { History } from "./history/History";
import { ScopeProvider } from "./scope";
import { Why } from "./Why";
import "../../parts/entries.css";
import "./instance.css";

const Modify = lazy(() => import("./modify/Modify"));
const Migrate = lazy(() => import("./migrate/Migrate"));

const route = getRouteApi("/processes/i/$key");
const t = text.instance;

export function Instance() {
  const key = asKey<InstanceKey>(route.useParams().key);
  const wanted = route.useSearch().do;
  const changing = wanted === "modify" || wanted === "migrate" ? wanted : undefined;
  const known = queries.getQueryData(["instances", "one", key]) as { state?: string } | undefined;
  const one = useQuery(instance(key, known?.state === undefined || known.state === "ACTIVE"));
  useEffect(fetchDiagram, []);
  // What was asked for while it was at work is asked for rarely from now on: once more at its end, so that nothing looks as if it went on.
  const state = one.data?.state;
  const before = useRef(state);
  useEffect(() => {
    if (before.current === "ACTIVE" && state !== undefined && state !== "ACTIVE") void afterCommand();
    before.current = state;
  }, [state]);
  const model = useQuery({ ...definition(one.data?.processDefinitionKey ?? asKey("0")), enabled: one.data !== undefined });
  if (one.error?.isGone || one.error?.status === 400) {
    return (
      <>
        <PageTitle title={key} />
        <Note title={t.gone} actions={<Link to="/processes" className="button small">{t.goneBack}</Link>}>
          {t.goneText(key)}
        </Note>
      </>
    );
  }
  const name = one.data?.processDefinitionName ?? one.data?.processDefinitionId;
  return (
    <>
      <PageTitle title={name ?? key} />
      <Shown query={one} rows={8}>
        {(found) => (
          <ScopeProvider key={found.processInstanceKey} instance={found}>
            <div className="instance">
              <Head instance={found} definition={model.data} />
              {changing === undefined ? <Read instance={found} /> : <Suspense fallback={<Skeleton rows={6} />}>{changing === "modify" ? <Modify instance={found} /> : <Migrate instance={found} />}</Suspense>}
            </div>
          </ScopeProvider>
        )}
      </Shown>
    </>
  );
}

function Read({ instance: found }: { instance: One }) {
  return (
    <>
      {found.state === "ACTIVE" ? <Why instance={found} /> : null}
      <Splitter name="instance" label={t.resize} initial={280} above={<Drawing instance={found} />}>
        <div className="instance-parts">
          <History instance={found} />
          <Details instance={found} />
        </div>
      </Splitter>
    </>
  );
}
