// What somebody may do, and why: by grants of his own, of his groups, of his roles, and of the roles of his groups.
import { type Grant, type Owner, allGrantsOf } from "../../api/authorizations";
import { type Entity, type Kind, type Member, allMembers, firstOf } from "../../api/identity";
import { live, queries } from "../../api/live";

export interface Source {
  ownerType: Owner;
  ownerId: string;
  /** Through which group one has the role. */
  through?: string;
  /** The one whose rights they are. */
  own?: true;
}

/** What is granted on one resource, with where each permission comes from. */
export interface Right {
  resourceType: string;
  /** An id, or `*` for all. */
  resource: string;
  /** The resource is named by a property of tasks, not by an id. */
  byProperty: boolean;
  permissions: ReadonlyMap<string, readonly Source[]>;
}

export interface Belonging {
  id: string;
  members: readonly string[];
  /** Groups that have it; of roles alone. */
  groups?: readonly string[];
}

const KIND_OF: Record<Owner, Member> = { USER: "users", CLIENT: "clients", GROUP: "groups", ROLE: "roles", MAPPING_RULE: "mapping-rules" };

/** Who grants something to somebody, himself first. */
export function sourcesOf(ownerType: Owner, ownerId: string, groups: readonly Belonging[], roles: readonly Belonging[]): Source[] {
  const own: Source = { ownerType, ownerId, own: true };
  const mine = ownerType === "GROUP" ? [] : groups.filter((group) => group.members.includes(ownerId)).map((group) => group.id);
  const direct = roles.filter((role) => (ownerType === "GROUP" ? role.groups : role.members)?.includes(ownerId)).map((role): Source => ({ ownerType: "ROLE", ownerId: role.id }));
  const through = mine.flatMap((group) => roles.filter((role) => role.groups?.includes(group)).map((role): Source => ({ ownerType: "ROLE", ownerId: role.id, through: group })));
  return [own, ...mine.map((id): Source => ({ ownerType: "GROUP", ownerId: id })), ...direct, ...through];
}

/** Rights in the order of their resources; all of a kind before single ones. */
export function rightsOf(found: readonly { source: Source; grants: readonly Grant[] }[]): Right[] {
  const rights = new Map<string, Right & { permissions: Map<string, Source[]> }>();
  for (const { source, grants } of found) {
    for (const { resourceType, resourceId, resourcePropertyName, permissionTypes } of grants) {
      const byProperty = resourcePropertyName !== null && resourcePropertyName !== "";
      const resource = byProperty ? resourcePropertyName : (resourceId ?? "*");
      const name = JSON.stringify([resourceType, byProperty, resource]);
      const known = rights.get(name) ?? { resourceType, resource, byProperty, permissions: new Map<string, Source[]>() };
      for (const permission of permissionTypes) known.permissions.set(permission, [...(known.permissions.get(permission) ?? []), source]);
      rights.set(name, known);
    }
  }
  const order = (each: Right) => `${each.resourceType} ${each.resource === "*" ? 0 : 1} ${each.resource}`;
  return [...rights.values()].toSorted((a, b) => order(a).localeCompare(order(b), "en"));
}

/** Groups and roles that are looked into. */
export const MOST = 200;

/** Does `work` for each, four at a time. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  const rest = [...items.entries()];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) found[next[0]] = await work(next[1]);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return found;
}

const ids = (entities: readonly Entity[]): string[] => entities.map((entity) => entity.id);

async function belongings(kind: Kind, member: Member, withGroups: boolean): Promise<{ items: Belonging[]; cut: boolean }> {
  const known = await queries.fetchQuery({ ...firstOf(kind), staleTime: 10_000 });
  const items = await each(known.items.slice(0, MOST), async ({ id }): Promise<Belonging> => {
    const [of, groups] = await Promise.all([
      member === "groups" || member === "roles" ? undefined : allMembers(kind, id, member),
      withGroups ? allMembers(kind, id, "groups") : undefined,
    ]);
    return { id, members: ids(of?.items ?? []), ...(groups ? { groups: ids(groups.items) } : {}) };
  });
  return { items, cut: known.page.totalItems > MOST };
}

export interface Access {
  sources: readonly Source[];
  rights: readonly Right[];
  /** There are more groups or roles than were looked into. */
  cut: boolean;
}

async function look(ownerType: Owner, ownerId: string): Promise<Access> {
  const member = KIND_OF[ownerType];
  const nothing = { items: [], cut: false };
  const [groups, roles] = await Promise.all([
    ownerType === "GROUP" || ownerType === "ROLE" ? nothing : belongings("groups", member, false),
    ownerType === "ROLE" ? nothing : belongings("roles", member, true),
  ]);
  const sources = sourcesOf(ownerType, ownerId, groups.items, roles.items);
  // A role that one has in several ways is asked for once.
  const owners = [...new Map(sources.map((source) => [`${source.ownerType} ${source.ownerId}`, source])).values()];
  const grants = new Map(await each(owners, async (source) => [`${source.ownerType} ${source.ownerId}`, (await allGrantsOf(source.ownerType, source.ownerId)).items] as const));
  const rights = rightsOf(sources.map((source) => ({ source, grants: grants.get(`${source.ownerType} ${source.ownerId}`) ?? [] })));
  return { sources, rights, cut: groups.cut || roles.cut };
}

/** Many questions: asked once a minute. */
export const access = (ownerType: Owner, ownerId: string) => live(["admin", "access", ownerType, ownerId], () => look(ownerType, ownerId), 60_000);
