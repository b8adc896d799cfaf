// What the model says about the variables of one element: from which expression each comes, with its value where that is known.
import { ArrowRight } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { Variable } from "../../api/instances";
import { memberOf } from "../../parts/lossless";
import { text } from "../../text";
import { mappings as t } from "../../text/mappings";
import type { Call, Mapped, Mapping } from "./mapped";
import { Value, useValue } from "./Value";

type Values = readonly Variable[] | undefined;

interface MappingsProps {
  mapped: Mapped;
  /** The variables of the element itself; without them none are shown. */
  values?: Values;
  /** One of many: what a heading means is not explained again and again. */
  isBrief?: boolean;
}

export function Mappings({ mapped, values, isBrief = false }: MappingsProps) {
  const { type, loop, inputs, takesInputs, call, result, outputs, collected } = mapped;
  const ofItem = loop?.input.target ? values : undefined;
  const hint = (sentence: string) => (isBrief ? undefined : sentence);
  return (
    <>
      {loop ? (
        <Group title={t.loop(loop.isSequential)} hint={hint(t.item)}>
          <Row mapping={loop.input} values={ofItem} />
        </Group>
      ) : null}
      <Rows title={t.inputs} hint={takesInputs ? hint(values ? t.inputsNow : t.inputsText) : t.inputsVain} rows={inputs} values={takesInputs ? values : undefined} />
      {call ? <Called call={call} hasOutputs={outputs.length > 0} /> : null}
      <Rows title={t.result} hint={hint(t.resultText)} rows={listOf(result)} />
      <Rows title={t.outputs} hint={hint(/[Ss]ubProcess|transaction/.test(type) ? t.outputsText : t.outputsAlone)} rows={outputs} />
      <Rows title={t.collected} hint={hint(t.collectedText)} rows={listOf(collected)} />
      <Rows title={t.list} hint={hint(t.itemList)} rows={listOf(loop?.output)} />
    </>
  );
}

const listOf = (mapping: Mapping | undefined): readonly Mapping[] => (mapping ? [mapping] : []);

function Group({ title, hint, children }: { title: string; hint: string | undefined; children: ReactNode }) {
  return (
    <div className="mappings">
      <h4 className="mappings-title">{title}</h4>
      {hint === undefined ? null : <p className="mappings-hint faint">{hint}</p>}
      <ul aria-label={title}>{children}</ul>
    </div>
  );
}

function Rows({ title, hint, rows, values }: { title: string; hint: string | undefined; rows: readonly Mapping[]; values?: Values }) {
  if (rows.length === 0) return null;
  // Several may have one target, and even one source.
  const seen = new Map<string, number>();
  return (
    <Group title={title} hint={hint}>
      {rows.map((each) => {
        const name = `${each.target} ${each.source}`;
        const count = (seen.get(name) ?? 0) + 1;
        seen.set(name, count);
        return <Row key={`${count} ${name}`} mapping={each} values={values} />;
      })}
    </Group>
  );
}

function Row({ mapping, values }: { mapping: Mapping; values?: Values }) {
  const { source, target, isReplaced } = mapping;
  const [name, ...path] = target.split(".");
  const variable = values?.find((each) => each.name === name);
  return (
    <li className="mapping">
      <Source source={source} />
      <span className="mapping-arrow">
        <ArrowRight size={14} aria-hidden="true" />
        <span className="hidden">{t.sets}</span>
      </span>
      <div className="mapping-target">
        {target === "" ? <span className="faint">{t.unnamed}</span> : <b className="mono">{target}</b>}
        {isReplaced ? <p className="mapping-replaced">{t.isReplaced}</p> : null}
        {values === undefined || isReplaced ? null : (
          <div className="mapping-value">
            <span className="hidden">{t.now}</span>
            {variable ? <Now variable={variable} path={path} /> : <span className="faint">{t.unset}</span>}
          </div>
        )}
      </div>
    </li>
  );
}

/** The value of a variable, or of what a path leads to within it: for that all of it is needed. */
function Now({ variable, path }: { variable: Variable; path: readonly string[] }) {
  const { value, isCut, load } = useValue(variable, path.length > 0);
  const way = path.join(".");
  const part = useMemo(() => (way === "" ? value : isCut ? undefined : memberOf(value, way.split("."))), [value, way, isCut]);
  if (part === undefined) return <span className="faint">{isCut ? text.words.loading : t.unset}</span>;
  return <Value value={part} isCut={isCut} load={load} />;
}

const LONG = 600;
const LINES = 8;

/** An expression, or text, as it stands in the model. */
function Source({ source }: { source: string }) {
  const [isOpen, open] = useState(false);
  if (source === "") return <code className="mapping-source faint">{t.isNull}</code>;
  const lines = source.split("\n");
  const isLong = lines.length > LINES || source.length > LONG;
  return (
    <div className="mapping-source">
      <code>{isOpen || !isLong ? source : `${lines.slice(0, LINES).join("\n").slice(0, LONG)}…`}</code>
      {isLong ? (
        <button type="button" className="button quiet small" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          {isOpen ? text.words.less : text.words.more}
        </button>
      ) : null}
    </div>
  );
}

function Called({ call, hasOutputs }: { call: Call; hasOutputs: boolean }) {
  const flags = [
    ["propagateAllParentVariables", call.passesAll, call.passesAll ? t.passesAll : t.passesSome],
    ["propagateAllChildVariables", call.returnsAll, hasOutputs ? t.returnsMapped : call.returnsAll ? t.returnsAll : t.returnsNone],
  ] as const;
  return (
    <div className="mappings">
      <h4 className="mappings-title">{t.call}</h4>
      <p className="mappings-hint"><code>{call.process}</code></p>
      <ul aria-label={t.call}>
        {flags.map(([name, isOn, sentence]) => (
          <li key={name} className="mapping-flag">
            <code className="faint">{`${name}: ${isOn}`}</code>
            <p>{sentence}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}
