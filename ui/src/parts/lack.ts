// A permission that is missing, in words: which, and on what.
import type { Lack } from "../api/permission";
import { text } from "../text";

export function lackText({ permission, resource, ids }: Lack): string {
  const on = ids.length === 0 ? text.session.lackAny(resource) : ids.map((id) => `\`${id}\``).join(" / ");
  return text.session.lack(permission, on);
}
