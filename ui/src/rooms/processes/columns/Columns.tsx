// Opens the choice of variables that stand as columns.
import { Columns3 } from "lucide-react";
import { Suspense, lazy } from "react";
import type { Definition } from "../../../api/processes";
import { Popup } from "../../../parts/floating/Popup";
import { text } from "../../../text";

const fetch = () => import("./Choice");
const Choice = lazy(fetch);
const t = text.processes;

export interface ColumnsProps {
  names: readonly string[];
  /** Of which the variables are suggested. */
  of: Definition | undefined;
  change: (names: readonly string[]) => void;
}

const words = (
  <>
    <Columns3 size={14} aria-hidden="true" />
    <span className="columns-word">{t.columns}</span>
  </>
);

export const Columns = (props: ColumnsProps) => (
  <Popup className="button small" words={words} title={t.columnsTitle} of="add-filter" placement="bottom end" fetch={fetch}>
    {() => (
      <Suspense fallback={null}>
        <Choice {...props} />
      </Suspense>
    )}
  </Popup>
);
