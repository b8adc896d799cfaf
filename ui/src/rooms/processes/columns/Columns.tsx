// Opens the choice of variables that stand as columns.
import { Columns3 } from "lucide-react";
import { Suspense, lazy } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import type { Definition } from "../../../api/processes";
import { text } from "../../../text";
import "../../../parts/menu.css";

const Choice = lazy(() => import("./Choice"));
const t = text.processes;

export interface ColumnsProps {
  names: readonly string[];
  /** Of which the variables are suggested. */
  of: Definition | undefined;
  change: (names: readonly string[]) => void;
}

export function Columns(props: ColumnsProps) {
  return (
    <DialogTrigger>
      <Button className="button small">
        <Columns3 size={14} aria-hidden="true" />
        {t.columns}
      </Button>
      <Popover className="floating" placement="bottom end">
        <Dialog className="add-filter" aria-label={t.columnsTitle}>
          <Suspense fallback={null}>
            <Choice {...props} />
          </Suspense>
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
