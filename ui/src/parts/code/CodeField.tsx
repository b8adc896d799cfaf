// JSON or FEEL to write. It is a plain text area, above which its own text is drawn in colours: what one writes with stays the browser's.
import { type ComponentProps, useMemo, useState } from "react";
import { type Language, bracketsAt, partAt, partsOf, wrongJsonAt } from "./tokens";
import "../json.css";
import "./code.css";

/** Beyond this colours would make writing slow. */
const COLOURED = 10_000;
const LINE = 20;
/** Above and below the lines, with the edges. */
const AROUND = 14;

interface CodeFieldProps extends Omit<ComponentProps<"textarea">, "rows" | "className" | "value" | "onChange" | "onSelect" | "spellCheck"> {
  language: Language;
  value: string;
  write: (text: string) => void;
  /** Lines that are there while little is written, and how many are shown at most. */
  rows: readonly [number, number];
  /** What it says cannot be taken. */
  invalid?: boolean;
  /** Where, if somebody else knows; of JSON it is known here. */
  wrongAt?: number;
}

export function CodeField({ language, value, write, rows: [least, most], invalid = false, wrongAt, ...rest }: CodeFieldProps) {
  const [caret, setCaret] = useState<number>();
  const coloured = value.length <= COLOURED;
  return (
    <span className={`code${coloured ? "" : " plain"}`} style={{ maxHeight: most * LINE + AROUND }}>
      <textarea
        {...rest}
        rows={coloured ? least : most}
        spellCheck="false"
        autoCapitalize="off"
        value={value}
        aria-invalid={invalid}
        onChange={(event) => write(event.target.value)}
        onSelect={({ currentTarget: { selectionStart, selectionEnd } }) => setCaret(selectionStart === selectionEnd ? selectionStart : undefined)}
        onBlur={() => setCaret(undefined)}
      />
      {coloured ? <Ink text={value} language={language} caret={caret} wrongAt={wrongAt} /> : null}
    </span>
  );
}

interface InkProps {
  text: string;
  language: Language;
  caret: number | undefined;
  wrongAt: number | undefined;
}

function Ink({ text, language, caret, wrongAt }: InkProps) {
  const parts = useMemo(() => partsOf(text, language), [text, language]);
  const wrong = useMemo(() => (language === "json" ? wrongJsonAt(parts) : wrongAt === undefined ? undefined : partAt(parts, wrongAt)), [parts, language, wrongAt]);
  const brackets = caret === undefined ? [] : bracketsAt(parts, caret);
  return (
    <span className="code-ink" aria-hidden="true">
      {parts.map(({ kind, text: part }, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- a part is what stands at its place, and few change with a key press
        <span key={at} className={`json-${kind}${at === wrong ? " code-wrong" : ""}${brackets.includes(at) ? (brackets.length > 1 ? " code-pair" : " code-wrong") : ""}`}>
          {part}
        </span>
      ))}
      {/* A line that nothing stands in yet is one too. */}
      {"\n"}
    </span>
  );
}
