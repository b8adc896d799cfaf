// A process or decision that was deleted while its history stays: a quiet word beside its version, and what stands for a model that is gone.
import { text } from "../text";
import { Note } from "./Note";
import "./deleted.css";

const t = text.deleted;

export const Deleted = ({ of = "process" }: { of?: "process" | "decision" }) => (
  <span className="deleted" title={t.text[of]}>
    {t.word}
  </span>
);

/** Deleted with its history, it has no model any more; what is still shown of it goes on without a drawing. */
export const NoModel = () => (
  <Note title={t.noModel} small>
    {t.noModelText}
  </Note>
);
