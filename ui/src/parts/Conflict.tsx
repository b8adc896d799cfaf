// The question after a change that somebody else was faster with: nothing is overwritten, and nothing is lost.
import { text } from "../text";
import { Note } from "./Note";

const t = text.kept;

export function Conflict({ title, copy, theirs }: { title: string; copy: () => void; theirs: () => void }) {
  return (
    <Note
      tone="incident"
      title={t.conflict}
      small
      actions={
        <>
          <button type="button" className="button small main" onClick={copy}>
            {t.copy}
          </button>
          <button type="button" className="button small" onClick={theirs}>
            {t.theirs}
          </button>
        </>
      }
    >
      {t.conflictText(title)}
    </Note>
  );
}
