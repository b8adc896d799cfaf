// Lists of many rows: only those that can be seen are drawn, the rest is fetched while one scrolls. By keyboard as a grid.
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, type ReactNode, useMemo } from "react";
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

const isControl = (target: EventTarget): boolean => target instanceof Element && target.closest("button, a, input, select, textarea") !== null;

/** What is pressed by keys, or by a screen reader, within a row does not open the row; nor does what is written in a dialog of it. */
const own = {
  onKeyDown(event: KeyboardEvent<HTMLElement>) {
    const isPressed = (event.key === "Enter" || event.key === " ") && isControl(event.target);
    if (isPressed || !event.currentTarget.contains(event.target as Node)) event.stopPropagation();
  },
  onClick(event: MouseEvent<HTMLElement>) {
    // Pointers have pressed the row before, which waits for their click.
    if (event.detail === 0 && isControl(event.target)) event.stopPropagation();
  },
};

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
                    {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- it has no keys itself */}
                    <span className="td-own" {...own}>
                      {column.cell(row)}
                    </span>
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
