// The tenant that somebody looks at. The address names it; without one, pages show what belongs to any tenant of theirs.
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { serverConfiguration } from "./cluster";
import { queries } from "./live";
import { type Me, meOf, useSession } from "./session";

let chosen: string | undefined;
const listeners = new Set<() => void>();

const now = (): string | undefined => chosen;
const listen = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** All that is on the screen is asked for again: it was of another tenant. */
export function chooseTenant(tenant: string | undefined) {
  if (tenant === chosen) return;
  chosen = tenant;
  for (const listener of listeners) listener();
  void queries.resetQueries();
}

/** For filters of searches: the tenant that was chosen, or any. */
export const here = (): { tenantId?: string } => (chosen === undefined ? {} : { tenantId: chosen });

/** Whether something belongs to what is looked at, for answers that cannot be filtered. */
export const isHere = ({ tenantId }: { tenantId: string }): boolean => chosen === undefined || tenantId === chosen;

export interface Tenancy {
  /** Those of the person who is logged in. */
  tenants: Me["tenants"];
  chosen: string | undefined;
}

/** `undefined` where tenants are not kept apart. */
export function useTenancy(): Tenancy | undefined {
  const configuration = useQuery(serverConfiguration());
  const me = meOf(useSession());
  const tenant = useSyncExternalStore(listen, now);
  if (configuration.data?.deployment.isMultiTenancyEnabled !== true || me === undefined) return undefined;
  return { tenants: me.tenants, chosen: tenant };
}

/** Whether rows have to say whose they are: no tenant is chosen, and there are several. */
export function useTenantShown(): boolean {
  const tenancy = useTenancy();
  return tenancy !== undefined && tenancy.chosen === undefined && tenancy.tenants.length > 1;
}
