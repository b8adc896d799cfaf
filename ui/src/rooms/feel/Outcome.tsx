// What an expression came to: its value, what the server stumbled over, or where it is wrong.
import type { UseQueryResult } from "@tanstack/react-query";
import { Sigma, TriangleAlert } from "lucide-react";
import type { Evaluated } from "../../api/expression";
import { Problem } from "../../api/problem";
import { Json } from "../../parts/Json";
import { Failure, Note } from "../../parts/Note";
import { Skeleton } from "../../parts/Shown";
import { text } from "../../text";
import { kindOf, memberText, wrongOf } from "./feel";

const t = text.feel;

const EXAMPLES = [
  ["sum(for line in lines return line.count * line.price)", '{\n  "lines": [\n    { "count": 2, "price": 9.90 },\n    { "count": 1, "price": 30 }\n  ]\n}'],
  ['if amount > 1000 then "manager" else "clerk"', '{\n  "amount": 1200\n}'],
  ["customers[country = \"DE\"].name", '{\n  "customers": [\n    { "name": "Acme", "country": "DE" },\n    { "name": "Bolt", "country": "FR" }\n  ]\n}'],
  ['date(due) + duration("P14D")', '{\n  "due": "2026-12-01"\n}'],
] as const;

interface OutcomeProps {
  written: string;
  query: UseQueryResult<Evaluated, Problem>;
  ready: boolean;
  /** The variables are not what they have to be. */
  bad: boolean;
  example: (expression: string, variables: string) => void;
  goTo: (offset: number) => void;
}

export function Outcome({ written, query, ready, bad, example, goTo }: OutcomeProps) {
  return (
    <section className="feel-outcome" aria-label={t.result} aria-live="polite" aria-busy={query.isFetching}>
      {written.trim() === "" ? (
        <Examples example={example} />
      ) : bad ? (
        <Note title={t.waits}>{t.waitsText}</Note>
      ) : query.error && ready ? (
        <Refused problem={query.error} written={written} goTo={goTo} retry={() => void query.refetch()} />
      ) : query.data ? (
        <Value evaluated={query.data} />
      ) : (
        <Skeleton rows={3} />
      )}
    </section>
  );
}

function Examples({ example }: Pick<OutcomeProps, "example">) {
  return (
    <>
      <Note icon={<Sigma size={20} strokeWidth={1.75} />} title={t.empty}>
        {t.emptyText}
      </Note>
      <ul className="feel-examples" aria-label={t.examples}>
        {EXAMPLES.map(([expression, variables]) => (
          <li key={expression}>
            <button type="button" className="feel-example mono" onClick={() => example(expression, variables)}>
              {expression}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Value({ evaluated }: { evaluated: Evaluated }) {
  const value = memberText(evaluated.text, "result") ?? "null";
  const kind = kindOf(value);
  return (
    <>
      <header className="feel-head">
        <h2>{t.result}</h2>
        <span className="faint">{t.kinds[kind]}</span>
      </header>
      <div className="feel-value">
        <Json value={value} />
      </div>
      {evaluated.warnings.length === 0 ? null : (
        <section className="feel-warnings" aria-label={t.warnings(evaluated.warnings.length)}>
          <h3>{t.warnings(evaluated.warnings.length)}</h3>
          <ul>
            {evaluated.warnings.map(({ message }, at) => (
              // The same warning may come several times.
              // oxlint-disable-next-line react/no-array-index-key
              <li key={`${at} ${message}`}>
                <TriangleAlert size={14} aria-hidden="true" />
                <span>{message}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Refused({ problem, written, goTo, retry }: { problem: Problem; written: string; goTo: (offset: number) => void; retry: () => void }) {
  if (!(problem instanceof Problem) || problem.status !== 400) return <Failure problem={problem} retry={retry} />;
  const { message, place } = wrongOf(problem.detail, written);
  return (
    <Note
      tone="incident"
      icon={<TriangleAlert size={20} strokeWidth={1.75} />}
      title={t.refused}
      actions={
        place === undefined ? undefined : (
          <button type="button" className="button small" onClick={() => goTo(place.offset)}>
            {t.go}
          </button>
        )
      }
    >
      {message}
      {place === undefined ? null : (
        <>
          <pre className="feel-place" aria-hidden="true">
            {place.text.slice(Math.max(0, place.column - 41))}
            {"\n"}
            {" ".repeat(Math.min(place.column - 1, 40))}
            <b>^</b>
          </pre>
          <span className="faint">{t.place(place.line, place.column)}</span>
        </>
      )}
    </Note>
  );
}
