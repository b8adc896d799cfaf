// A Camunda form, drawn by form-js, which is fetched when the first one is shown. It tells what was touched, and gives its values.
import { Form } from "@bpmn-io/form-js-viewer";
import { useEffect, useRef, useState } from "react";
import { type Reference, documentUrl } from "../../api/documents";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import "@bpmn-io/form-js-viewer/dist/assets/form-js-base.css";
import "@bpmn-io/form-js-viewer/dist/assets/flatpickr/light.css";
import "./form.css";

type Values = Record<string, unknown>;

/** What stands in the form at a moment. */
export interface Filled {
  /** As it was before anybody touched it. */
  before: Values;
  /** Of the fields that are shown. */
  now: Values;
  /** With what no field shows. */
  all: Values;
  /** Files that were chosen, by the name that stands for them in the values. */
  files: ReadonlyMap<string, readonly File[]>;
  valid: boolean;
}

export type Touched = Record<string, { was: unknown; is: unknown }>;

interface FormProps {
  schema: string;
  values: Values;
  /** The values with what was written at an earlier visit, where there was one. */
  draft: Values | undefined;
  readOnly: boolean;
  /** Gets the way to its values, once it is there. */
  ready: (fill: () => Filled) => void;
  touched: (values: Touched) => void;
  /** Somebody pressed its own button, or Enter. */
  submit: () => void;
}

/** Those of another value than before; copies, for the form goes on to write into its own. */
const differing = (before: Values, now: Values): Touched =>
  Object.fromEntries(
    // Files are in the browser's memory alone: no draft can hold them.
    Object.entries(now).filter(([, is]) => !JSON.stringify(is ?? null).includes('"files::')).filter(([name, is]) => JSON.stringify(is) !== JSON.stringify(before[name])).map(([name, is]) => [name, { was: before[name], is: structuredClone(is) }]),
  );

/** Where a form finds the documents that it shows. */
const documents = { documentEndpointBuilder: ["value", { buildUrl: (of: Reference) => new URL(documentUrl(of), window.location.href).href }] };

export default function FormView(props: FormProps) {
  const { schema, readOnly } = props;
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<Form>(undefined);
  const [broken, setBroken] = useState<string>();
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (!place.current) return;
    // What is typed counts at once: otherwise a third of a second of it would be missing when the task is completed, or taken, meanwhile.
    const options = { container: place.current, debounce: false, additionalModules: [documents] };
    const form = new Form(options);
    let [gone, settled, asked] = [false, false, false];
    let all: Values = {};
    form.on("changed", ({ data }: { data: Values }) => {
      all = data;
      if (settled) latest.current.touched(differing(before, data));
    });
    form.on("submit", () => {
      if (!asked) latest.current.submit();
    });
    let before: Values = {};
    const fill = (): Filled => {
      asked = true;
      const { data, errors, files } = form.submit();
      asked = false;
      return { before, now: data, all, files, valid: Object.keys(errors).length === 0 };
    };
    const show = async () => {
      const { draft, values } = latest.current;
      const parsed = JSON.parse(schema) as Record<string, unknown>;
      await form.importSchema(parsed, values);
      before = structuredClone(all);
      if (draft !== undefined) await form.importSchema(parsed, draft);
      if (gone) return;
      settled = true;
      shown.current = form;
      form.setProperty("readOnly", latest.current.readOnly);
      latest.current.ready(fill);
    };
    show().catch((error: unknown) => setBroken(error instanceof Error ? error.message : String(error)));
    return () => {
      gone = true;
      shown.current = undefined;
      form.destroy();
    };
  }, [schema]);
  useEffect(() => shown.current?.setProperty("readOnly", readOnly), [readOnly]);

  if (broken !== undefined) return <Note tone="incident" title={text.tasks.formGone}>{broken}</Note>;
  return <div ref={place} className="form-place" />;
}
