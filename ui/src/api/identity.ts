// Users, groups, roles, tenants and mapping rules, who belongs to which, and what they may do.
import { send } from "./client";
import { PAGE, type Page, useList } from "./list";
import { type Ask, done, live } from "./live";

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

async function search(path: string, kind: Member, body: object, how?: Partial<Ask>): Promise<Page<Entity>> {
  const found = (await (await send("post", path, {}, JSON.stringify(body), how)).json()) as Page<Raw>;
  return { items: found.items.map((raw) => entityOf(kind, raw)), page: found.page };
}

const encode = encodeURIComponent;
const of = (kind: Kind, id: string): string => `/${kind}/${encode(id)}`;

/** Only users and groups are found by a part of their id; of the others there are few. */
const canFind = (kind: Kind): boolean => kind === "users" || kind === "groups";

export const useEntities = (kind: Kind, find: string | undefined, after?: string) =>
  useList(["admin", kind, "list", find ?? ""], (how, from) => {
    const filter = find !== undefined && canFind(kind) ? { filter: { [IDS[kind]]: { $like: `*${find}*` } } } : {};
    return search(`/${kind}/search`, kind, { ...filter, sort: [{ field: IDS[kind], order: "ASC" }], page: from === undefined ? { limit: PAGE } : { limit: PAGE, after: from } }, how);
  }, after, 15_000);

/** The first of a kind, for lists to choose from. */
export const firstOf = (kind: Kind) =>
  live(["admin", kind, "first"], (how) => search(`/${kind}/search`, kind, { sort: [{ field: IDS[kind], order: "ASC" }], page: { limit: 1000 } }, how), 30_000);

export const entity = (kind: Kind, id: string) =>
  live(["admin", kind, "one", id], async (how) => entityOf(kind, (await (await send("get", of(kind, id), {}, undefined, how)).json()) as Raw), 15_000);

export const members = (kind: Kind, id: string, member: Member) =>
  live(["admin", kind, "members", id, member], (how) => allMembers(kind, id, member, how), 15_000);

export function allMembers(kind: Kind, id: string, member: Member, how?: Partial<Ask>): Promise<Page<Entity>> {
  return search(`${of(kind, id)}/${member}/search`, member, { sort: [{ field: IDS[member], order: "ASC" }], page: { limit: 1000 } }, how);
}

const body = (kind: Kind, each: Entity): Record<string, string> => {
  if (kind === "mapping-rules") return { name: each.name, claimName: each.claimName, claimValue: each.claimValue };
  return kind === "users" ? { name: each.name, email: each.email } : { name: each.name, description: each.description };
};

export const create = (kind: Kind, each: Entity, password = ""): Promise<Response> =>
  done(send("post", `/${kind}`, {}, JSON.stringify({ ...body(kind, each), [IDS[kind]]: each.id, ...(kind === "users" ? { password } : {}) })));

/** A user without a new password keeps the one that there is. */
export const update = (kind: Kind, each: Entity, password = ""): Promise<Response> =>
  done(send("put", of(kind, each.id), {}, JSON.stringify({ ...body(kind, each), ...(kind === "users" && password !== "" ? { password } : {}) })));

export const erase = (kind: Kind, id: string): Promise<Response> => done(send("delete", of(kind, id), {}, undefined));

export const join = (kind: Kind, id: string, member: Member, who: string): Promise<Response> => done(send("put", `${of(kind, id)}/${member}/${encode(who)}`, {}, undefined));
export const part = (kind: Kind, id: string, member: Member, who: string): Promise<Response> => done(send("delete", `${of(kind, id)}/${member}/${encode(who)}`, {}, undefined));
