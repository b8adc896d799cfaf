// The mapping, row by row; where a token would be lost there is a gap, and it is said.
import { useState } from "react";
import { Skeleton } from "../../../parts/Shown";
import { type Step, kindOf } from "../../../parts/steps";
import { text } from "../../../text";
import { type Row, candidates } from "../../../parts/mapping";

const t = text.change;

interface MappingProps {
  rows: readonly Row[];
  targets: readonly Step[];
  loading: boolean;
  shown: string | undefined;
  show: (source: string) => void;
  choose: (source: string, target: string) => void;
}

export function Mapping({ rows, targets, loading, shown, show, choose }: MappingProps) {
  const [every, setEvery] = useState(false);
  if (loading) return <Skeleton rows={4} />;
  const gaps = rows.filter((row) => row.how === "gap").length;
  const listed = every ? rows : rows.filter((row) => row.standing > 0 || row.how === "chosen");
  return (
    <section className="migrate-mapping" aria-label={t.mapping}>
      <div className="mapping-head">
        <h2>{t.mapping}</h2>
        <span role="status" className={gaps > 0 ? "bad" : "faint"}>
          {gaps > 0 ? t.gaps(gaps) : t.ready(rows.filter((row) => row.target !== undefined).length)}
        </span>
        <span className="grow" />
        <label className="row">
          <input type="checkbox" checked={every} onChange={(event) => setEvery(event.target.checked)} />
          {t.every2}
        </label>
      </div>
      <ul>
        {listed.map((row) => (
          <li key={row.source.id} className={`mapping-row${row.how === "gap" ? " gap" : ""}`}>
            <button type="button" className="mapping-from" aria-pressed={shown === row.source.id} onClick={() => show(row.source.id)}>
              <span className="clip">{row.source.name}</span>
              <span className="mapping-kind faint clip">{`${kindOf(row.source.type)} · ${row.source.id}`}</span>
            </button>
            <span className="figure faint">{row.standing > 0 ? t.tokens(row.standing) : ""}</span>
            <select className="field" aria-label={`${row.source.name} ${t.becomes}`} value={row.target ?? ""} onFocus={() => show(row.source.id)} onChange={(event) => choose(row.source.id, event.target.value)}>
              <option value="">{t.unmapped}</option>
              {candidates(row.source, targets).map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name === each.id ? each.id : `${each.name} (${each.id})`}
                </option>
              ))}
            </select>
            <span className={`mapping-state ${row.how === "gap" ? "bad" : row.how}`} title={row.how === "gap" ? t.gapText : undefined}>
              {t[row.how]}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
