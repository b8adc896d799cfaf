// Asks once more before something goes for good.
import { Dialog } from "./Dialog";
import { text } from "../text";
import { useAct } from "./act";

interface AskProps {
  title: string;
  hint: string;
  go: string;
  said: string;
  command: () => Promise<unknown>;
  close: () => void;
  then?: () => void;
}

export function Ask({ title, hint, go, said, command, close, then }: AskProps) {
  const { busy, act } = useAct();
  const run = async () => {
    const done = await act(command, said);
    close();
    if (done) then?.();
  };
  return (
    <Dialog title={title} isOpen close={close}>
      <p className="muted">{hint}</p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {text.words.cancel}
        </button>
        <button type="button" className="button danger" disabled={busy} onClick={() => void run()}>
          {go}
        </button>
      </div>
    </Dialog>
  );
}
