// JSON to read: short on one line, long on several, closed beyond a few.
import { useMemo, useState } from "react";
import { text } from "../text";
import { prettyJson, spacedJson, tokens } from "./json";
import "./json.css";

const SHORT = 72;
const LINES = 8;
/** Beyond this colours cost more than they help. */
const PLAIN = 20_000;

export function Json({ value }: { value: string }) {
  const [open, setOpen] = useState(false);
  const laid = useMemo(() => (value.length <= SHORT ? spacedJson(value) : prettyJson(value)), [value]);
  const lines = laid.split("\n");
  const long = lines.length > LINES || laid.length > 600;
  const shown = open || !long ? laid : lines.slice(0, LINES).join("\n").slice(0, 600);
  return (
    <>
      <code className="json">{shown.length > PLAIN ? shown : coloured(shown)}</code>
      {long ? (
        <button type="button" className="button quiet small json-more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? text.words.less : text.words.more}
        </button>
      ) : null}
    </>
  );
}

function coloured(value: string) {
  let at = 0;
  return tokens(value).map(({ kind, text: part }) => {
    at += part.length;
    return (
      <span key={at} className={`json-${kind}`}>
        {part}
      </span>
    );
  });
}
