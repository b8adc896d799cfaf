// Roles and the tenant that every cluster has: they cannot be changed, and their members can.
import type { Kind } from "../../../api/identity";

const ROLES: ReadonlySet<string> = new Set(["admin", "readonly-admin", "connectors", "rpa", "app-integrations", "task-worker"]);

export const isBuiltIn = (kind: Kind | undefined, id: string): boolean => (kind === "roles" && ROLES.has(id)) || (kind === "tenants" && id === "<default>");
