// A list with rows to choose from, and one without.
import { useState } from "react";
import type { Selection, SortDescriptor } from "react-aria-components";
import { Note } from "../../parts/Note";
import { State } from "../../parts/State";
import { type Col, Table } from "../../parts/Table";

interface Row {
  key: string;
  name: string;
  state: string;
  count: number;
}

const rows: readonly Row[] = [
  { key: "1", name: "Order", state: "ACTIVE", count: 12 },
  { key: "2", name: "A process whose name is much longer than the column in which it has to stand", state: "INCIDENT", count: 1204 },
  { key: "3", name: "<b>Payment</b>", state: "COMPLETED", count: 0 },
];
const columns: readonly Col<Row>[] = [
  { id: "name", name: "Name", width: "1fr", minWidth: 160, sorts: true, cell: (row) => <span className="clip" title={row.name}>{row.name}</span> },
  { id: "state", name: "State", width: 140, cell: (row) => <State name={row.state} /> },
  { id: "count", name: "Count", width: 100, number: true, cell: (row) => row.count },
];

export function Rows() {
  const [selected, select] = useState<Selection>(new Set(["2"]));
  const [sort, setSort] = useState<SortDescriptor>({ column: "name", direction: "ascending" });
  return (
    <>
      <div className="gallery-list">
        <Table label="Some rows" columns={columns} rows={rows} idOf={(row) => row.key} sort={sort} onSort={setSort} selected={selected} onSelect={select} empty={null} />
      </div>
      <div className="gallery-list">
        <Table label="No rows" columns={columns} rows={[]} idOf={(row) => row.key} empty={<Note title="No rows" small />} />
      </div>
    </>
  );
}
