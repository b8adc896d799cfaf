// The process whose instances are shown. A field of the browser: it finds by the first letters, and is at home on phones.
import { useQuery } from "@tanstack/react-query";
import { leftOver } from "../../api/leftover";
import { type Definition, deleted, latest, processOf } from "../../api/processes";
import { useTenantShown } from "../../api/tenant";
import { text } from "../../text";
import { atLeast, number } from "../../text/format";

const t = text.processes;
/** Characters of a name in the list of the browser, which grows as wide as the longest. */
const LONGEST = 60;

const cut = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);

interface Choice {
  id: string;
  name: string;
  tenant: string | undefined;
}

const option = ({ id, name, tenant }: Choice) => (
  <option key={`${id} ${tenant}`} value={id}>
    {name}
  </option>
);

interface PickProcessProps {
  chosen: string | undefined;
  /** The tenant is that of the process, where rows have to say whose they are. */
  choose: (process: string | undefined, tenant?: string) => void;
}

export function PickProcess({ chosen, choose }: PickProcessProps) {
  const tenants = useTenantShown();
  const known = useQuery(latest());
  const gone = useQuery(deleted());
  const choiceOf = (each: Definition): Choice => ({
    id: each.processDefinitionId,
    name: cut(each.name ?? each.processDefinitionId) + (tenants ? ` · ${each.tenantId}` : ""),
    tenant: tenants ? each.tenantId : undefined,
  });
  const items = (known.data?.items ?? []).map(choiceOf);
  const over = known.data === undefined ? [] : leftOver(gone.data?.items ?? [], known.data.items, processOf).map(choiceOf);
  if (chosen !== undefined && (tenants || ![...items, ...over].some((item) => item.id === chosen))) items.unshift({ id: chosen, name: cut(chosen), tenant: undefined });
  const all = [...items, ...over];
  const page = known.data?.page;
  const isCut = page !== undefined && (page.hasMoreTotalItems || page.totalItems > (known.data?.items.length ?? 0));
  return (
    <select className="field pick" data-filter="" aria-label={t.process} value={chosen ?? ""} onChange={(event) => choose(all[event.target.selectedIndex - 1]?.id, all[event.target.selectedIndex - 1]?.tenant)}>
      <option value="">{t.allProcesses}</option>
      {items.map(option)}
      {over.length === 0 ? null : <optgroup label={text.deleted.group}>{over.map(option)}</optgroup>}
      {isCut ? <option disabled>{t.pickCut(number(known.data?.items.length ?? 0), atLeast(page.totalItems, page.hasMoreTotalItems))}</option> : null}
    </select>
  );
}
