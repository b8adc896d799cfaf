// Lists of many rows: only those that can be seen are drawn, the rest is fetched while one scrolls. By keyboard as a grid.
import { ArrowDown, ArrowUp } from "lucide-react";
import {
  type KeyboardEvent, type MouseEvent, type PointerEvent, type ReactNode, type RefObject, memo, useDeferredValue, useLayoutEffect, useMemo, useRef,
} from "react";
import {
  Cell, CheckboxContext, Collection, Column, Row, type Selection, type SortDescriptor, Table as AriaTable, TableBody, TableHeader,
  TableLayout, TableLoadMoreItem, Virtualizer, useSlottedContext,
} from "react-aria-components";
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
  /** Where there are more rows: asks for them, and may be called while they come. */
  loadMore?: () => void;
  isLoadingMore?: boolean;
  empty: ReactNode;
}

const ROW = 40;
const HEAD = 32;
const LAYOUT = { rowHeight: ROW, headingHeight: HEAD, loaderHeight: 40 };
/** Rows that are drawn at once: a screen of them. Making the others takes longer than drawing these. */
const FIRST = 40;

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
  const { label, columns, rows, selected, sort } = props;
  const first = useMemo(() => (rows.length > FIRST ? rows.slice(0, FIRST) : rows), [rows]);
  const drawn = useDeferredValue(rows, first);
  // A press in a row that was drawn earlier calls the newest handlers.
  const now = useRef(props);
  useLayoutEffect(() => {
    now.current = props;
  });
  // Columns of nothing say nothing, and would make what is said as wide as they are.
  if (rows.length === 0) return props.empty;
  return (
    <>
      <Grid
        now={now}
        label={label}
        columns={columns}
        rows={drawn}
        idOf={props.idOf}
        opens={props.onOpen !== undefined}
        selected={selected}
        column={sort?.column}
        direction={sort?.direction}
        sorts={props.onSort !== undefined}
        more={props.loadMore !== undefined && (drawn !== first || drawn === rows)}
      />
      {props.isLoadingMore ? <div className="thin-bar more-bar" aria-hidden="true" /> : null}
    </>
  );
}

interface GridProps<T extends object> extends Pick<TableProps<T>, "label" | "columns" | "rows" | "idOf" | "selected"> {
  now: RefObject<TableProps<T>>;
  opens: boolean;
  sorts: boolean;
  more: boolean;
  column: SortDescriptor["column"] | undefined;
  direction: SortDescriptor["direction"] | undefined;
}

function Rows<T extends object>({ now, label, columns, rows, idOf, opens, selected, column, direction, sorts, more }: GridProps<T>) {
  return (
    <Virtualizer layout={TableLayout} layoutOptions={LAYOUT}>
      <AriaTable
        aria-label={label}
        className="table"
        selectionMode={selected === undefined ? "none" : "multiple"}
        selectedKeys={selected}
        onSelectionChange={(selection) => now.current.onSelect?.(selection)}
        sortDescriptor={column === undefined || direction === undefined ? undefined : { column, direction }}
        onSortChange={sorts ? (sort) => now.current.onSort?.(sort) : undefined}
        onRowAction={(id) => {
          const row = now.current.rows.find((each) => idOf(each) === String(id));
          if (row) now.current.onOpen?.(row);
        }}
      >
        <TableHeader>
          {selected === undefined ? null : (
            <Column width={40} minWidth={40} className="th th-box">
              <Box />
            </Column>
          )}
          {columns.map((each, index) => (
            <Head key={each.id} column={each} isRowHeader={index === 0} />
          ))}
        </TableHeader>
        <TableBody>
          <Collection items={rows} dependencies={[columns]}>
            {(row) => (
              <Row id={idOf(row)} className={`tr${opens ? " opens" : ""}`}>
                {selected === undefined ? null : (
                  <Cell className="td td-box">
                    <Box />
                  </Cell>
                )}
                {columns.map((each) => (
                  <Cell key={each.id} className={`td${each.number ? " number" : ""}`}>
                    {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- it has no keys itself */}
                    <span className="td-own" {...own}>
                      {each.cell(row)}
                    </span>
                  </Cell>
                ))}
              </Row>
            )}
          </Collection>
          {more ? <TableLoadMoreItem onLoadMore={() => now.current.loadMore?.()} isLoading={false} /> : null}
        </TableBody>
      </AriaTable>
    </Virtualizer>
  );
}

/** A page is drawn with each answer; its table, of which all cells are drawn together, only when something in it is different. Ids are made
 * in the same way each time. */
const Grid = memo(Rows, ({ idOf: _before, ...before }, { idOf: _after, ...after }) =>
  Object.entries(after).every(([name, value]) => Object.is(value, before[name as keyof typeof before])),
) as typeof Rows;

function Head({ column, isRowHeader }: { column: Pick<Col<object>, "id" | "name" | "sorts" | "width" | "minWidth" | "number">; isRowHeader: boolean }) {
  return (
    <Column
      id={column.id}
      isRowHeader={isRowHeader}
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
  );
}

/** A press of the box is none of its row. */
const stay = (event: PointerEvent | MouseEvent | KeyboardEvent) => event.stopPropagation();
const stayKeys = (event: KeyboardEvent) => (event.key === " " ? stay(event) : undefined);

/** The browser's own: those of the library cost as much as all other cells of a row. */
function Box() {
  const { isSelected = false, isIndeterminate = false, onChange, "aria-label": label, "aria-labelledby": by, id } = useSlottedContext(CheckboxContext, "selection") ?? {};
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it only keeps presses
    <label className="box" onPointerDown={stay} onMouseDown={stay} onClick={stay} onKeyDown={stayKeys}>
      <input
        type="checkbox"
        id={id}
        aria-label={label}
        aria-labelledby={by}
        checked={isSelected}
        ref={(input) => void (input && (input.indeterminate = isIndeterminate))}
        onChange={(event) => onChange?.(event.target.checked)}
      />
      <span className={`box-mark${isSelected || isIndeterminate ? " on" : ""}`}>
        {isIndeterminate ? <Minus size={12} aria-hidden="true" /> : isSelected ? <Check size={12} strokeWidth={3} aria-hidden="true" /> : null}
      </span>
    </label>
  );
}
