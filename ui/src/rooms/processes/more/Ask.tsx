// The question that was asked for.
import { deleteMany } from "../../../api/many";
import { ManyForm } from "../../../parts/ManyForm";
import { text } from "../../../text";
import type { MoreKind, MoreProps } from "../More";
import { Csv } from "./Csv";
import { MigrateMany } from "./MigrateMany";
import { MoveMany } from "./MoveMany";

const t = text.commands;

export default function Ask({ kind, close, filters, terms, of, sort, by, names }: MoreProps & { kind: MoreKind; close: () => void }) {
  const { work, over, all } = filters;
  if (kind === "csv") return <Csv filter={all} sort={sort} by={by} names={names} close={close} />;
  if (kind === "delete" && over) {
    return (
      <ManyForm title={t.deleteManyTitle} filter={over} terms={terms.over} go={t.doDelete} danger run={() => deleteMany(over)} close={close}>
        <p className="muted">{t.deleteText}</p>
      </ManyForm>
    );
  }
  if (!work || !of) return null;
  if (kind === "move") return <MoveMany filter={work} terms={terms.work} of={of} close={close} />;
  return <MigrateMany filter={work} terms={terms.work} of={of} close={close} />;
}
