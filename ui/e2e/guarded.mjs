// A server that asks who one is, with a person of each kind; and one that keeps tenants apart.
import { client } from "./seed.mjs";

export const GUARDED = ["camunda.security.authentication.method=basic", "camunda.security.authentication.unprotected-api=false", "camunda.security.authorizations.enabled=true"];

export const basic = (name, password) => ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}` });

/** The first admin, then: anna does tasks, olaf looks at processes and may change nothing. */
export async function people(url) {
  await client(url).post("/setup/user", { username: "root", password: "root-secret", name: "Root", email: "root@example.org" });
  const root = client(url, basic("root", "root-secret"));
  for (const [username, name] of [["anna", "Anna Ehlers"], ["olaf", "Olaf Brandt"]]) {
    await root.post("/users", { username, password: `${username}-secret`, name, email: `${username}@example.org` });
  }
  await root.post("/groups", { groupId: "assessors", name: "Assessors", description: "They look at what is broken" });
  await root.send("PUT", "/groups/assessors/users/anna");
  await root.post("/roles", { roleId: "clerk", name: "Clerk", description: "Does tasks" });
  await root.send("PUT", "/roles/clerk/groups/assessors");
  const grant = (ownerType, ownerId, resourceType, resourceId, ...permissionTypes) => root.post("/authorizations", { ownerType, ownerId, resourceType, resourceId, permissionTypes });
  await grant("GROUP", "assessors", "COMPONENT", "tasklist", "ACCESS");
  await grant("ROLE", "clerk", "PROCESS_DEFINITION", "*", "READ_PROCESS_DEFINITION", "READ_USER_TASK", "UPDATE_USER_TASK");
  await grant("USER", "olaf", "COMPONENT", "operate", "ACCESS");
  await grant("USER", "olaf", "PROCESS_DEFINITION", "order", "READ_PROCESS_DEFINITION", "READ_PROCESS_INSTANCE");
  return root;
}

export const TENANTED = [...GUARDED, "camunda.security.multi-tenancy.checks-enabled=true"];

/** Two tenants, both with the order process and instances of it; the first admin belongs to both, olaf to one of them. */
export async function tenants(root, model) {
  for (const [tenantId, name, count] of [["acme", "Acme", 3], ["globex", "Globex Corporation", 2]]) {
    await root.post("/tenants", { tenantId, name });
    await root.send("PUT", `/tenants/${tenantId}/users/root`);
    await root.deploy([["order.bpmn", model]], tenantId);
    for (let n = 0; n < count; n++) await root.start("order", { orderId: `${tenantId}-${n}`, amount: n }, tenantId);
  }
  await root.send("PUT", "/tenants/acme/users/olaf");
}
