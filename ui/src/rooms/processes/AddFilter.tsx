// One more condition: by what, and which.
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { text } from "../../text";
import { type Kind, KINDS } from "./FilterBar";
import { condition, written } from "./filter";
import type { ProcessSearch } from "./search";
import "../../parts/menu.css";

const t = text.processes;

interface AddFilterProps {
  search: ProcessSearch;
  change: (search: ProcessSearch) => void;
}

export function AddFilter({ search, change }: AddFilterProps) {
  const [open, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button">
        <Plus size={14} aria-hidden="true" />
        {t.add}
      </Button>
      <Popover className="floating" placement="bottom start">
        <Dialog className="add-filter" aria-label={t.add}>
          <Form
            search={search}
            change={(next) => {
              setOpen(false);
              change(next);
            }}
          />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Form({ search, change }: AddFilterProps) {
  const [kind, setKind] = useState<Kind>("var");
  const [value, setValue] = useState("");
  const [bad, setBad] = useState(false);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim() === "") return;
    if (kind !== "var") {
      change({ ...search, [kind]: value.trim() });
      return;
    }
    const read = condition(value);
    setBad(read === undefined);
    if (read) change({ ...search, var: [...(search.var ?? []), written(read)] });
  };
  const isTime = kind === "from" || kind === "to";
  return (
    <form onSubmit={apply}>
      <label>
        <span className="label">{t.what}</span>
        <select className="field" value={kind} onChange={(event) => setKind(KINDS.find((each) => each === event.target.value) ?? "var")}>
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {t.filters[each]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="label">{t.filters[kind]}</span>
        <input
          className={`field${isTime ? "" : " mono"}`}
          type={isTime ? "datetime-local" : "text"}
          value={value}
          placeholder={t.hints[kind]}
          aria-invalid={bad}
          spellCheck="false"
          // The popover was opened to write here.
          ref={(input) => input?.focus()}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
      {kind === "var" ? <p className={bad ? "bad" : "faint"}>{bad ? t.varBad : t.varHelp}</p> : null}
      <button type="submit" className="button">
        {t.apply}
      </button>
    </form>
  );
}
