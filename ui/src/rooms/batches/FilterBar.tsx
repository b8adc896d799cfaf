// Which batch operations are listed: of which state, and of which type.
import { useNavigate } from "@tanstack/react-router";
import { STATES, TYPES } from "../../api/batches";
import { text } from "../../text";
import type { BatchesSearch } from "./search";

const t = text.batches;

export function FilterBar({ search, found }: { search: BatchesSearch; found: string }) {
  const navigate = useNavigate();
  const set = (next: BatchesSearch) => void navigate({ to: "/batches", search: { ...search, after: undefined, ...next }, replace: true });
  return (
    <div className="list-head batch-filters">
      <select className="field batch-filter" data-filter="" aria-label={t.operation} value={search.type ?? ""} onChange={(event) => set({ type: event.target.value || undefined })}>
        <option value="">{t.allTypes}</option>
        {TYPES.map((each) => (
          <option key={each} value={each}>
            {t.kind(each)}
          </option>
        ))}
      </select>
      <select className="field batch-filter" aria-label={t.state} value={search.state ?? ""} onChange={(event) => set({ state: event.target.value || undefined })}>
        <option value="">{t.allStates}</option>
        {STATES.map((each) => (
          <option key={each} value={each}>
            {text.words.state(each)}
          </option>
        ))}
      </select>
      <b role="status">{found}</b>
    </div>
  );
}
