// One more condition: by what, and which.
import { Plus } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { text } from "../../text";
import type { ProcessSearch } from "./search";
import "../../parts/menu.css";

const Form = lazy(() => import("./AddForm"));
const t = text.processes;

export interface AddFilterProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
}

export function AddFilter({ search, change }: AddFilterProps) {
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button" data-add="">
        <Plus size={14} aria-hidden="true" />
        {t.add}
      </Button>
      <Popover className="floating" placement="bottom start">
        <Dialog className="add-filter" aria-label={t.add}>
          <Suspense fallback={null}>
            <Form
              search={search}
              change={(next) => {
                setOpen(false);
                change(next);
              }}
            />
          </Suspense>
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
