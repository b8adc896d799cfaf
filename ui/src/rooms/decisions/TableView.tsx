// A decision table as a table of the page: what went in, which rules matched, and what they gave.
import type { ReactNode } from "react";
import { Json } from "../../parts/Json";
import { text } from "../../text";
import type { Column, Logic, Rule, Table } from "./model";

const t = text.decisions;

/** What an evaluation did to a table. */
export interface Seen {
  inputs: ReadonlyMap<string, string>;
  /** Positions of rules, from 1. */
  matched: ReadonlySet<number>;
  outputs: ReadonlyMap<string, string>;
  failure: string | null;
}

/** Key of what a rule gave for an output. */
export const given = (rule: number, output: string): string => `${rule} ${output}`;

/** Whether the message of a failure quotes what stands in the cell. */
const fails = (cell: string, failure: string | null | undefined): boolean =>
  cell.length > 1 && failure !== null && failure !== undefined && ["'", '"', "`"].some((quote) => failure.includes(`${quote}${cell}${quote}`));

export function LogicView({ logic, seen }: { logic: Logic | undefined; seen?: Seen }) {
  if (logic === undefined) return <p className="muted decision-pad">{t.notFound}</p>;
  if (logic.kind === "other") return <p className="muted decision-pad">{t.otherKind}</p>;
  if (logic.kind === "expression") {
    return (
      <div className="decision-pad">
        <p className="label">{t.expression}</p>
        <code className={`decision-expression${fails(logic.text, seen?.failure) ? " fails" : ""}`}>{logic.text}</code>
      </div>
    );
  }
  return <TableView table={logic} seen={seen} />;
}

function TableView({ table, seen }: { table: Table; seen: Seen | undefined }) {
  const notes = table.rules.some((rule) => rule.note !== "");
  return (
    <>
      <p className="decision-policy muted">
        <b>{table.aggregation === "" ? table.hitPolicy : `${table.hitPolicy} ${table.aggregation}`}</b>
        {t.hit[table.hitPolicy] === undefined ? null : `: ${t.hit[table.hitPolicy]}`}
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what is wider than the page is scrolled by keys as well */}
      <div className="decision-scroll" tabIndex={0} role="region" aria-label={t.tabs.table}>
        <table className="decision-table">
          <thead>
            <tr>
              <th scope="col" className="decision-at">
                <span className="hidden">{t.rule}</span>
              </th>
              {table.inputs.map((each) => (
                <Heading key={each.id} column={each} kind="input" failing={fails(each.text, seen?.failure)}>
                  {seen?.inputs.has(each.id) ? <Json value={seen.inputs.get(each.id) ?? "null"} /> : null}
                </Heading>
              ))}
              {table.outputs.map((each) => (
                <Heading key={each.id} column={each} kind="output" failing={false} />
              ))}
              {notes ? (
                <th scope="col" className="decision-note">
                  {t.annotation}
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {table.rules.map((rule, at) => (
              <Row key={rule.id} rule={rule} at={at + 1} table={table} seen={seen} notes={notes} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface HeadingProps {
  column: Column;
  kind: "input" | "output";
  failing: boolean;
  children?: ReactNode;
}

function Heading({ column, kind, failing, children }: HeadingProps) {
  return (
    <th scope="col" className={`${kind}${failing ? " fails" : ""}`}>
      <span className="decision-label">{column.label}</span>
      {column.text === "" || column.text === column.label ? null : <code className="faint">{column.text}</code>}
      {column.type === "" ? null : <span className="faint decision-type">{column.type}</span>}
      {children === undefined || children === null ? null : <span className="decision-value">{children}</span>}
    </th>
  );
}

function Row({ rule, at, table, seen, notes }: { rule: Rule; at: number; table: Table; seen: Seen | undefined; notes: boolean }) {
  const lit = seen?.matched.has(at) ?? false;
  return (
    <tr className={lit ? "lit" : undefined}>
      <th scope="row" className="decision-at figure" aria-label={lit ? t.ruleIs(at) : undefined} title={lit ? t.ruleMatched : undefined}>
        {lit ? "✓ " : ""}
        {at}
      </th>
      {table.inputs.map((column, index) => (
        <Cell key={column.id} cell={rule.inputs[index] ?? ""} failing={fails(rule.inputs[index] ?? "", seen?.failure)} />
      ))}
      {table.outputs.map((column, index) => {
        const value = seen?.outputs.get(given(at, column.id));
        const cell = rule.outputs[index] ?? "";
        return (
          <td key={column.id} className={`output${fails(cell, seen?.failure) ? " fails" : ""}`}>
            <code>{cell}</code>
            {value === undefined || value === cell ? null : (
              <span className="decision-value">
                <Json value={value} />
              </span>
            )}
          </td>
        );
      })}
      {notes ? <td className="decision-note muted">{rule.note}</td> : null}
    </tr>
  );
}

const Cell = ({ cell, failing }: { cell: string; failing: boolean }) => (
  <td className={failing ? "fails" : undefined}>{cell === "" || cell === "-" ? <span className="faint" title={t.any}>–</span> : <code>{cell}</code>}</td>
);
