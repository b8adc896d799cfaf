// What somebody may do with which resource.
import { type Answer, send } from "./client";
import { PAGE, type Page, useList } from "./list";
import { type Ask, done, live } from "./live";

export const OWNERS = ["USER", "CLIENT", "GROUP", "ROLE", "MAPPING_RULE"] as const;
export type Owner = (typeof OWNERS)[number];

export interface Grant {
  authorizationKey: string;
  ownerId: string;
  ownerType: Owner;
  resourceType: string;
  /** `*` for all; null where a property says which. */
  resourceId: string | null;
  resourcePropertyName: string | null;
  permissionTypes: string[];
}

export type NewGrant = Omit<Grant, "authorizationKey">;

export interface GrantFilter {
  ownerType?: string;
  ownerId?: string;
  resourceType?: string;
}

async function search(filter: GrantFilter, page: object, how?: Partial<Ask>): Promise<Page<Grant>> {
  const sort = ["ownerType", "ownerId", "resourceType"].map((field) => ({ field, order: "ASC" }));
  const found = (await (await send("post", "/authorizations/search", {}, JSON.stringify({ filter, sort, page }), how)).json()) as Answer<"/authorizations/search", "post">;
  return found as Page<Grant>;
}

export const useGrants = (filter: GrantFilter, after?: string) =>
  useList(["admin", "grants", "list", filter], (how, from) => search(filter, from === undefined ? { limit: PAGE } : { limit: PAGE, after: from }, how), after, 15_000);

/** All that are given to one owner, and to nobody else. */
export const allGrantsOf = (ownerType: Owner, ownerId: string, how?: Partial<Ask>): Promise<Page<Grant>> => search({ ownerType, ownerId }, { limit: 1000 }, how);
export const grantsOf = (ownerType: Owner, ownerId: string) => live(["admin", "grants", "of", ownerType, ownerId], (how) => allGrantsOf(ownerType, ownerId, how), 15_000);

const body = ({ ownerId, ownerType, resourceType, resourceId, resourcePropertyName, permissionTypes }: NewGrant): string =>
  JSON.stringify({ ownerId, ownerType, resourceType, permissionTypes, ...(resourcePropertyName === null ? { resourceId } : { resourcePropertyName }) });

export const grant = (each: NewGrant): Promise<Response> => done(send("post", "/authorizations", {}, body(each)));
export const changeGrant = ({ authorizationKey, ...each }: Grant): Promise<Response> => done(send("put", "/authorizations/{authorizationKey}", { authorizationKey }, body(each)));
export const revoke = (key: string): Promise<Response> => done(send("delete", "/authorizations/{authorizationKey}", { authorizationKey: key }, undefined));
