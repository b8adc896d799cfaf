// The question before one simple command for many instances.
import { cancelMany, deleteMany, retryMany } from "../api/many";
import { text } from "../text";
import type { ManyProps } from "./Many";
import { ManyForm } from "./ManyForm";

const t = text.commands;
const commands = {
  cancel: { title: t.cancelManyTitle, go: t.doCancel, run: cancelMany, danger: true },
  retry: { title: t.retryManyTitle, go: t.doRetry, run: retryMany, danger: false },
  delete: { title: t.deleteManyTitle, go: t.doDelete, run: deleteMany, danger: true },
} as const;

export default function Ask({ command, filter, terms, close }: Omit<ManyProps, "label" | "of"> & { close: () => void }) {
  const { title, go, run, danger } = commands[command];
  return (
    <ManyForm title={title} filter={filter} terms={terms} go={go} danger={danger} run={() => run(filter)} close={close}>
      {command === "delete" ? <p className="muted">{t.deleteText}</p> : null}
    </ManyForm>
  );
}
