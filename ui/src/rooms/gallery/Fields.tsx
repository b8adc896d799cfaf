// What one writes in.
import { useState } from "react";
import { CodeField } from "../../parts/code/CodeField";
import { FindField } from "../../parts/FindField";

const CODE = [
  ["JSON", "json", '{\n  "amount": 12345678901234567890,\n  "items": ["a", true, null]\n}', undefined],
  ["JSON that is wrong", "json", '{"amount": 1 "items": []}', undefined],
  ["FEEL", "feel", '// who decides\nif amount > 1000 then "manager" else clerks[1].name', undefined],
  ["FEEL that the server refuses", "feel", "1 + 2 2", 6],
  ["JSON that is too long for colours", "json", `"${"a text, ".repeat(1_300)}"`, undefined],
] as const;

export function Fields() {
  return (
    <>
      <p className="row wrap">
        <FindField label="Find" value="" set={() => undefined} />
        <input className="field" aria-label="Name" defaultValue="A name" />
        <input className="field mono" aria-label="Key" defaultValue="2251799813685250" />
        <select className="field" aria-label="State">
          <option>All states</option>
        </select>
        <label className="row">
          <input type="checkbox" defaultChecked /> Chosen
        </label>
      </p>
      {CODE.map(([label, language, text, wrongAt]) => (
        <Code key={label} label={label} language={language} text={text} wrongAt={wrongAt} />
      ))}
    </>
  );
}

function Code({ label, language, text, wrongAt }: { label: string; language: "json" | "feel"; text: string; wrongAt: number | undefined }) {
  const [written, write] = useState<string>(text);
  return (
    <label>
      <span className="label">{label}</span>
      <CodeField language={language} rows={[2, 6]} value={written} write={write} wrongAt={wrongAt} invalid={label.includes("that")} />
    </label>
  );
}
