// One command for many instances: it says to which, and takes exactly the filter that is shown.
import { Ban, GitCompareArrows, RotateCcw, Route, Trash2 } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import type { Pair } from "../api/change";
import type { Filter } from "../api/instances";
import { RIGHTS } from "../api/rights";
import { MayButton } from "./MayButton";

const icons = { cancel: Ban, retry: RotateCcw, delete: Trash2, migrate: GitCompareArrows, move: Route } as const;
const Ask = lazy(() => import("./ManyAsk"));

/** A command with a plan that was made before. */
export type Planned = { kind: "migrate"; target: string; pairs: Pair[] } | { kind: "move"; pairs: Pair[] };

export interface ManyProps {
  command: "cancel" | "retry" | "delete" | Planned;
  filter: Filter;
  /** The filter in words, as it is shown. */
  terms: readonly string[];
  label: string;
  /** Of what, where the label alone does not say it. */
  of?: string;
}

export function Many({ command, filter, terms, label, of }: ManyProps) {
  const [open, setOpen] = useState(false);
  const kind = typeof command === "string" ? command : command.kind;
  const Icon = icons[kind];
  return (
    <>
      <MayButton needs={RIGHTS[kind]} className={`button small${of === undefined ? "" : " quiet"}`} aria-label={of === undefined ? undefined : `${label}: ${of}`} onClick={() => setOpen(true)}>
        <Icon size={14} aria-hidden="true" />
        {label}
      </MayButton>
      {open ? (
        <Suspense fallback={null}>
          <Ask command={command} filter={filter} terms={terms} close={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
