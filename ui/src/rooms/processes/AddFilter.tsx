// One more condition: by what, and which.
import { Plus } from "lucide-react";
import { Suspense, lazy } from "react";
import { Popup } from "../../parts/floating/Popup";
import { text } from "../../text";
import type { ProcessSearch } from "./search";

const fetch = () => import("./AddForm");
const Form = lazy(fetch);
const t = text.processes;

export interface AddFilterProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
}

const words = (
  <>
    <Plus size={14} aria-hidden="true" />
    {t.add}
  </>
);

export const AddFilter = ({ search, change }: AddFilterProps) => (
  <Popup className="button" words={words} data-add="" title={t.add} of="add-filter" placement="bottom start" fetch={fetch}>
    {(close) => (
      <Suspense fallback={null}>
        <Form
          search={search}
          change={(next) => {
            close();
            change(next);
          }}
        />
      </Suspense>
    )}
  </Popup>
);
