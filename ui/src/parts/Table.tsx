// Lists of many rows: only those that can be seen are drawn, the rest is fetched while one scrolls. By keyboard as a grid.
import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import {
  Cell, Checkbox, Collection, Column, Row, type Selection, type SortDescriptor, Table as AriaTable, TableBody, TableHeader,
  TableLayout, TableLoadMoreItem, Virtualizer,
} from "react-aria-components";
import { text } from "../text";
import { Check, Minus } from "lucide-react";
import "./table.css";

export interface Col<T> {
  id: string;
  name: string;
  cell: (row: T) => ReactNode;
  /** Pixels, or a share such as `2fr`. */
  width?: number | `${number}fr`;
  minWidth?: number;
  sorts?: boolean;
  number?: boolean;
}

interface TableProps<T extends object> {
  label: string;
  columns: readonly Col<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  onOpen?: (row: T) => void;
  sort?: SortDescriptor;
  onSort?: (sort: SortDescriptor) => void;
  selected?: Selection;
  onSelect?: (selection: Selection) => void;
  loadMore?: () => void;
  isLoadingMore?: boolean;
  empty: ReactNode;
}

const ROW = 40;
const HEAD = 32;

export function Table<T extends object>(props: TableProps<T>) {
  const { columns, rows, idOf, onOpen, selected } = props;
  const layout = useMemo(() => ({ rowHeight: ROW, headingHeight: HEAD, loaderHeight: 40 }), []);
  const byId = useMemo(() => new Map(rows.map((row) => [idOf(row), row])), [rows, idOf]);
  // Columns of nothing say nothing, and would make what is said as wide as they are.
  if (rows.length === 0) return props.empty;
  return (
    <Virtualizer layout={TableLayout} layoutOptions={layout}>
      <AriaTable
        aria-label={props.label}
        className="table"
        selectionMode={selected === undefined ? "none" : "multiple"}
        selectedKeys={selected}
        onSelectionChange={props.onSelect}
        sortDescriptor={props.sort}
        onSortChange={props.onSort}
        onRowAction={(id) => {
          const row = byId.get(String(id));
          if (row) onOpen?.(row);
        }}
      >
        <TableHeader>
          {selected === undefined ? null : (
            <Column width={40} minWidth={40} className="th th-box">
              <Box slot="selection" />
            </Column>
          )}
          {columns.map((column, index) => (
            <Column
              key={column.id}
              id={column.id}
              isRowHeader={index === 0}
              allowsSorting={column.sorts ?? false}
              width={column.width ?? "1fr"}
              minWidth={column.minWidth ?? 80}
              className={`th${column.number ? " number" : ""}`}
            >
              {({ sortDirection }) => (
                <span className="th-inner">
                  <span className="clip">{column.name}</span>
                  {sortDirection === "ascending" ? <ArrowUp size={12} aria-hidden="true" /> : null}
                  {sortDirection === "descending" ? <ArrowDown size={12} aria-hidden="true" /> : null}
                </span>
              )}
            </Column>
          ))}
        </TableHeader>
        <TableBody>
          <Collection items={rows} dependencies={[columns]}>
            {(row) => (
              <Row id={idOf(row)} className={`tr${onOpen ? " opens" : ""}`}>
                {selected === undefined ? null : (
                  <Cell className="td td-box">
                    <Box slot="selection" />
                  </Cell>
                )}
                {columns.map((column) => (
                  <Cell key={column.id} className={`td${column.number ? " number" : ""}`}>
                    {column.cell(row)}
                  </Cell>
                ))}
              </Row>
            )}
          </Collection>
          {props.loadMore === undefined ? null : (
            <TableLoadMoreItem onLoadMore={props.loadMore} isLoading={props.isLoadingMore ?? false} className="td-more">
              {text.words.loading}
            </TableLoadMoreItem>
          )}
        </TableBody>
      </AriaTable>
    </Virtualizer>
  );
}

function Box({ slot }: { slot: string }) {
  return (
    <Checkbox slot={slot} className="box">
      {({ isSelected, isIndeterminate }) => (
        <span className={`box-mark${isSelected || isIndeterminate ? " on" : ""}`}>
          {isIndeterminate ? <Minus size={12} aria-hidden="true" /> : isSelected ? <Check size={12} strokeWidth={3} aria-hidden="true" /> : null}
        </span>
      )}
    </Checkbox>
  );
}
