// Whether the drawing shows how often each of its elements was reached.
import { Flame } from "lucide-react";
import { text } from "../../text";

export function Heat({ on, toggle }: { on: boolean; toggle: () => void }) {
  return (
    <button type="button" className="button small heat-toggle" aria-pressed={on} onClick={toggle}>
      <Flame size={14} aria-hidden="true" />
      {text.processes.heat}
    </button>
  );
}
