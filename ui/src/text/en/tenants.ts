// Whose data it is, where tenants are kept apart.
export const tenants = {
  tenant: "Tenant",
  all: "All tenants",
  choose: "Choose a tenant",
  of: (tenant: string) => `You see what belongs to the tenant ${tenant}`,
  none: "No tenant",
  noneHint: "You are not assigned to any tenant, so there is nothing for you to see. Ask an admin.",
  notYours: (tenant: string) => `${tenant} (not yours)`,
  ofAll: "of all your tenants",
} as const;
