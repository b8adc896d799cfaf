// All job types at a glance: what waits, since when, and who asks for it.
import { Link } from "@tanstack/react-router";
import type { JobTypes } from "../../api/jobs";
import { router } from "../../app/router";
import { Note } from "../../parts/Note";
import { useNow } from "../../parts/now";
import { type Col, Table } from "../../parts/Table";
import { Time } from "../../parts/Time";
import { text } from "../../text";
import { number } from "../../text/format";
import { type Type, isAlone } from "./types";

const t = text.jobs;

const columns: readonly Col<Type>[] = [
  {
    id: "type",
    name: t.type,
    width: "2fr",
    minWidth: 140,
    cell: (row) => (
      <Link to="/jobs/$type" params={{ type: row.name }} className="mono clip" title={row.name}>
        {row.name}
      </Link>
    ),
  },
  { id: "waiting", name: t.waiting, width: 104, number: true, cell: (row) => number(row.waiting) },
  { id: "oldest", name: t.oldest, width: 112, number: true, cell: (row) => <Time at={row.oldest} /> },
  { id: "inFlight", name: t.inFlight, width: 104, number: true, cell: (row) => number(row.workers.reduce((sum, { inFlight }) => sum + inFlight, 0)) },
  { id: "workers", name: t.workers, width: "2fr", minWidth: 140, cell: (row) => <Workers row={row} /> },
  { id: "asked", name: t.asked, width: 124, number: true, cell: (row) => (row.lastAsked === null ? <span className="faint">{t.never}</span> : <Time at={row.lastAsked} />) },
];

function Workers({ row }: { row: Type }) {
  const now = useNow();
  if (isAlone(row, now)) return <span className="side-waiting">{t.noWorker}</span>;
  const names = row.workers.map(({ name }) => name || t.unnamed).join(", ");
  return (
    <span className="clip" title={names}>
      {names}
    </span>
  );
}

export function Overview({ types, work }: { types: readonly Type[]; work: JobTypes }) {
  return (
    <section className="list job-overview" aria-label={t.overview}>
      <div className="list-head">
        <b role="status">{text.words.count(types.length, "job type", "job types")}</b>
        {work.isIncomplete ? <span className="faint">{t.incomplete}</span> : null}
      </div>
      <div className="list-body">
        <Table
          label={t.overview}
          columns={columns}
          rows={types}
          idOf={(row) => row.name}
          onOpen={(row) => void router.navigate({ to: "/jobs/$type", params: { type: row.name } })}
          empty={<Note title={t.noMatch} />}
        />
      </div>
    </section>
  );
}
