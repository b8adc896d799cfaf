// Users, groups, roles, tenants and mapping rules, who belongs to which, and what they may do.
import { type PathWith, send } from "./client";
import { PAGE, type Page, useList } from "./list";
import { type Ask, done, live } from "./live";
import { orderIn, withKey } from "./order";

export const KINDS = ["users", "groups", "roles", "tenants", "mapping-rules"] as const;
export type Kind = (typeof KINDS)[number];
/** What may belong to a group, a role or a tenant; clients are nothing but ids. */
export type Member = Kind | "clients";

/** One of any kind; what a kind does not have is empty. */
export interface Entity {
  id: string;
  name: string;
  description: string;
  email: string;
  claimName: string;
  claimValue: string;
}

const IDS: Record<Member, string> = { users: "username", groups: "groupId", roles: "roleId", tenants: "tenantId", "mapping-rules": "mappingRuleId", clients: "clientId" };

/** Whose members of which kinds the API knows. */
export const MEMBERS: Record<Kind, readonly Member[]> = {
  users: [],
  groups: ["users", "clients", "mapping-rules"],
  roles: ["users", "clients", "groups", "mapping-rules"],
  tenants: ["users", "clients", "groups", "roles", "mapping-rules"],
  "mapping-rules": [],
};

type Raw = Record<string, string | null | undefined>;

const entityOf = (kind: Member, raw: Raw): Entity => ({
  id: raw[IDS[kind]] ?? "",
  name: raw.name ?? "",
  description: raw.description ?? "",
  email: raw.email ?? "",
  claimName: raw.claimName ?? "",
  claimValue: raw.claimValue ?? "",
});

async function entities(kind: Member, asked: Promise<Response>): Promise<Page<Entity>> {
  const found = (await (await asked).json()) as Page<Raw>;
  return { items: found.items.map((raw) => entityOf(kind, raw)), page: found.page };
}

const search = (kind: Kind, body: object, how?: Partial<Ask>): Promise<Page<Entity>> => entities(kind, send("post", `/${kind}/search`, {}, JSON.stringify(body), how));

/** Where one of a kind is; all take the same names, each its own. */
const ONE = { users: "/users/{username}", groups: "/groups/{groupId}", roles: "/roles/{roleId}", tenants: "/tenants/{tenantId}", "mapping-rules": "/mapping-rules/{mappingRuleId}" } as const;
const named = (id: string) => ({ username: id, groupId: id, roleId: id, tenantId: id, mappingRuleId: id });

/** Where the members of one are, and where one of them is. Not all kinds have all members: `MEMBERS` says which, and a test that the API has them. */
export const membersPath = (kind: Kind, member: Member): string => `${ONE[kind]}/${member}/search`;
export const memberPath = (kind: Kind, member: Member): string => `${ONE[kind]}/${member}/{${IDS[member]}}`;

/** Only users and groups are found by a part of their id; of the others there are few. */
const canFind = (kind: Kind): boolean => kind === "users" || kind === "groups";

type SortedBy = "id" | "name" | "email" | "claimName" | "claimValue";
const SORTS: Record<Kind, readonly SortedBy[]> = { users: ["id", "name", "email"], groups: ["id", "name"], roles: ["id", "name"], tenants: ["id", "name"], "mapping-rules": ["id", "name", "claimName", "claimValue"] };
/** By their ids, unless the address says otherwise. */
export const entityOrder = (kind: Kind, sort: string | undefined) => orderIn(sort, SORTS[kind], { field: "id", order: "ASC" });

export const useEntities = (kind: Kind, find: string | undefined, order: ReturnType<typeof entityOrder>, after?: string) =>
  useList(["admin", kind, "list", find ?? "", order], (how, from) => {
    const filter = find !== undefined && canFind(kind) ? { filter: { [IDS[kind]]: { $like: `*${find}*` } } } : {};
    const sort = withKey(order, "id").map(({ field, order: way }) => ({ field: field === "id" ? IDS[kind] : field, order: way }));
    return search(kind, { ...filter, sort, page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how);
  }, after, 15_000);

/** The first of a kind, for lists to choose from. */
export const firstOf = (kind: Kind) =>
  live(["admin", kind, "first"], (how) => search(kind, { sort: [{ field: IDS[kind], order: "ASC" }], page: { limit: 1000 } }, how), 30_000);

export const entity = (kind: Kind, id: string) =>
  live(["admin", kind, "one", id], async (how) => entityOf(kind, (await (await send("get", ONE[kind], named(id), undefined, how)).json()) as Raw), 15_000);

export const members = (kind: Kind, id: string, member: Member) =>
  live(["admin", kind, "members", id, member], (how) => allMembers(kind, id, member, how), 15_000);

export function allMembers(kind: Kind, id: string, member: Member, how?: Partial<Ask>): Promise<Page<Entity>> {
  const body = JSON.stringify({ sort: [{ field: IDS[member], order: "ASC" }], page: { limit: 1000 } });
  return entities(member, send("post", membersPath(kind, member) as PathWith<"post">, named(id) as never, body, how));
}

const body = (kind: Kind, each: Entity): Record<string, string> => {
  if (kind === "mapping-rules") return { name: each.name, claimName: each.claimName, claimValue: each.claimValue };
  return kind === "users" ? { name: each.name, email: each.email } : { name: each.name, description: each.description };
};

export const create = (kind: Kind, each: Entity, password = ""): Promise<Response> =>
  done(send("post", `/${kind}`, {}, JSON.stringify({ ...body(kind, each), [IDS[kind]]: each.id, ...(kind === "users" ? { password } : {}) })));

/** A user without a new password keeps the one that there is. */
export const update = (kind: Kind, each: Entity, password = ""): Promise<Response> =>
  done(send("put", ONE[kind], named(each.id), JSON.stringify({ ...body(kind, each), ...(kind === "users" && password !== "" ? { password } : {}) })));

export const erase = (kind: Kind, id: string): Promise<Response> => done(send("delete", ONE[kind], named(id), undefined));

/** Puts somebody in, or takes them out. */
function member(method: "put" | "delete", kind: Kind, id: string, of: Member, who: string): Promise<Response> {
  const path = memberPath(kind, of);
  return done(send(method, path as PathWith<"put"> & PathWith<"delete">, { ...named(id), [IDS[of]]: who } as never, undefined));
}
export const join = (kind: Kind, id: string, of: Member, who: string): Promise<Response> => member("put", kind, id, of, who);
export const part = (kind: Kind, id: string, of: Member, who: string): Promise<Response> => member("delete", kind, id, of, who);
