// One command for many instances: it says to which, and takes exactly the filter that is shown.
import { Ban, RotateCcw } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import type { Filter } from "../api/instances";

const Ask = lazy(() => import("./ManyAsk"));

export interface ManyProps {
  command: "cancel" | "retry";
  filter: Filter;
  /** The filter in words, as it is shown. */
  terms: readonly string[];
  label: string;
}

export function Many({ command, filter, terms, label }: ManyProps) {
  const [open, setOpen] = useState(false);
  const Icon = command === "cancel" ? Ban : RotateCcw;
  return (
    <>
      <button type="button" className="button small" onClick={() => setOpen(true)}>
        <Icon size={14} aria-hidden="true" />
        {label}
      </button>
      {open ? (
        <Suspense fallback={null}>
          <Ask command={command} filter={filter} terms={terms} close={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
