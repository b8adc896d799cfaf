// The process whose instances are shown. A field of the browser: it finds by the first letters, and is at home on phones.
import { useQuery } from "@tanstack/react-query";
import { latest } from "../../api/processes";
import { text } from "../../text";

const t = text.processes;
/** Characters of a name in the list of the browser, which grows as wide as the longest. */
const LONGEST = 60;

const cut = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);

export function PickProcess({ chosen, choose }: { chosen: string | undefined; choose: (process: string | undefined) => void }) {
  const known = useQuery(latest());
  const items = (known.data?.items ?? []).map((each) => ({ id: each.processDefinitionId, name: cut(each.name ?? each.processDefinitionId) }));
  if (chosen !== undefined && !items.some((item) => item.id === chosen)) items.push({ id: chosen, name: cut(chosen) });
  return (
    <select className="field pick" data-filter="" aria-label={t.process} value={chosen ?? ""} onChange={(event) => choose(event.target.value || undefined)}>
      <option value="">{t.allProcesses}</option>
      {items.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
