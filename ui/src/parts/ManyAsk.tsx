// The question before one command for many instances, of which all is known but whether it is meant.
import type { Filter } from "../api/instances";
import { cancelMany, deleteMany, migrateMany, moveMany, retryMany } from "../api/many";
import { text } from "../text";
import type { ManyProps } from "./Many";
import { ManyForm } from "./ManyForm";

const t = text.commands;
const commands = {
  cancel: { title: t.cancelManyTitle, go: t.doCancel, run: cancelMany, danger: true },
  retry: { title: t.retryManyTitle, go: t.doRetry, run: retryMany, danger: false },
  delete: { title: t.deleteManyTitle, go: t.doDelete, run: deleteMany, danger: true },
} as const;

function actOf(command: ManyProps["command"]) {
  if (typeof command === "string") return commands[command];
  if (command.kind === "move") return { title: t.moveManyTitle, go: t.doMove, run: (filter: Filter) => moveMany(filter, command.pairs), danger: false };
  return { title: t.migrateManyTitle, go: t.doMigrate, run: (filter: Filter) => migrateMany(filter, command.target, command.pairs), danger: false };
}

export default function Ask({ command, filter, terms, close }: Omit<ManyProps, "label" | "of"> & { close: () => void }) {
  const { title, go, run, danger } = actOf(command);
  return (
    <ManyForm title={title} filter={filter} terms={terms} go={go} danger={danger} run={() => run(filter)} close={close}>
      {command === "delete" ? <p className="muted">{t.deleteText}</p> : null}
    </ManyForm>
  );
}
