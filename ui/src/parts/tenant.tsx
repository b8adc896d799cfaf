// Tenants in lists and in forms: whose a row is, and for whom something is made.
import { useMemo, useState } from "react";
import { useTenancy, useTenantShown } from "../api/tenant";
import { text } from "../text";
import type { Col } from "./Table";

const t = text.tenants;

/** Columns with that of the tenant before the one that is named, where rows have to say whose they are; `always` is for searches that know no tenant. */
export function useTenantColumn<Row extends { tenantId: string }>(columns: readonly Col<Row>[], before: string, always = false): readonly Col<Row>[] {
  const several = (useTenancy()?.tenants.length ?? 0) > 1;
  const isShown = useTenantShown() || (always && several);
  return useMemo(() => {
    if (!isShown) return columns;
    const at = columns.findIndex(({ id }) => id === before);
    return columns.toSpliced(at, 0, { id: "tenant", name: t.tenant, width: "1fr", minWidth: 96, cell: (row) => <span className="clip" title={row.tenantId}>{row.tenantId}</span> });
  }, [columns, before, isShown]);
}

export interface TenantChoice {
  /** `undefined` where commands name none. */
  tenant: string | undefined;
  /** There is nothing to choose, or it was chosen. */
  ready: boolean;
  choices: readonly { tenantId: string; name: string | null }[];
  choose: (tenant: string) => void;
}

/** For whom something is made: the tenant `of` what it is made for or the one that is looked at, the only one, or the one that somebody picks. */
export function useTenantChoice(of?: string): TenantChoice {
  const tenancy = useTenancy();
  const [picked, choose] = useState<string>();
  if (tenancy === undefined) return { tenant: undefined, ready: true, choices: [], choose };
  const { tenants, chosen } = tenancy;
  const tenant = picked ?? of ?? chosen ?? (tenants.length === 1 ? tenants[0]?.tenantId : undefined);
  return { tenant, ready: tenant !== undefined, choices: tenants, choose };
}

/** Absent where there is nothing to choose. */
export function TenantField({ choice: { tenant, choices, choose }, bare = false }: { choice: TenantChoice; bare?: boolean }) {
  if (choices.length < 2) return null;
  const field = (
    <select className="field" aria-label={bare ? t.tenant : undefined} value={tenant ?? ""} onChange={(event) => choose(event.target.value)}>
      <option value="" disabled>
        {t.choose}
      </option>
      {choices.map(({ tenantId, name }) => (
        <option key={tenantId} value={tenantId}>
          {name ?? tenantId}
        </option>
      ))}
    </select>
  );
  if (bare) return field;
  return (
    // The field stands within.
    // oxlint-disable-next-line jsx-a11y/label-has-associated-control
    <label>
      <span className="label">{t.tenant}</span>
      {field}
    </label>
  );
}
