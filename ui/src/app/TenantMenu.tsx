// Whose data the pages show: one tenant, or all of one's own.
import { useTenancy } from "../api/tenant";
import { text } from "../text";
import { router } from "./router";

const t = text.tenants;

const choose = (tenant: string) => void router.navigate({ to: ".", search: (old: object) => ({ ...old, tenant, after: undefined }) });

export function TenantMenu() {
  const tenancy = useTenancy();
  if (tenancy === undefined) return null;
  const { tenants, chosen } = tenancy;
  const [only] = tenants;
  if (tenants.length === 0 && chosen === undefined) {
    return (
      <span className="state waiting tenant-one" title={t.noneHint} role="status">
        {t.none}
      </span>
    );
  }
  if (tenants.length === 1 && (chosen === undefined || chosen === only?.tenantId)) {
    return (
      <span className="muted clip tenant-one" title={t.of(only?.tenantId ?? "")}>
        {only?.name ?? only?.tenantId}
      </span>
    );
  }
  return (
    <select className="field tenant-menu" aria-label={t.tenant} value={chosen ?? ""} onChange={(event) => choose(event.target.value)}>
      <option value="">{t.all}</option>
      {tenants.map(({ tenantId, name }) => (
        <option key={tenantId} value={tenantId}>
          {name ?? tenantId}
        </option>
      ))}
      {chosen === undefined || tenants.some(({ tenantId }) => tenantId === chosen) ? null : (
        <option value={chosen} disabled>
          {t.notYours(chosen)}
        </option>
      )}
    </select>
  );
}
