// Files that processes refer to: kept by the server, while variables hold their references.
import { base, send } from "./client";
import type { InstanceKey } from "./keys";

/** What a variable holds of a document; there is more in it, which is kept as it is. */
export interface Reference {
  "camunda.document.type": "camunda";
  storeId: string;
  documentId: string;
  contentHash?: string | null;
  metadata: { fileName?: string | null; contentType?: string | null; size?: number | null; expiresAt?: string | null };
}

export const isReference = (value: unknown): value is Reference =>
  typeof value === "object" && value !== null && (value as Record<string, unknown>)["camunda.document.type"] === "camunda" &&
  typeof (value as Record<string, unknown>).documentId === "string" && typeof (value as Record<string, unknown>).metadata === "object" && (value as Record<string, unknown>).metadata !== null;

/** Where its content is. */
export function documentUrl({ documentId, storeId, contentHash }: Reference): string {
  const query = new URLSearchParams({ ...(storeId ? { storeId } : {}), ...(contentHash ? { contentHash } : {}) });
  return `${base}/v2/documents/${encodeURIComponent(documentId)}?${query.toString()}`;
}

export interface Owner {
  processDefinitionId: string;
  processInstanceKey?: InstanceKey;
}

export async function keepDocument(file: File, owner: Owner): Promise<Reference> {
  const form = new FormData();
  form.append("file", file, file.name);
  form.append("metadata", new Blob([JSON.stringify({ fileName: file.name, ...(file.type === "" ? {} : { contentType: file.type }), ...owner })], { type: "application/json" }));
  return (await (await send("post", "/documents", {}, form)).json()) as Reference;
}

/** Takes back what nothing refers to yet. */
export async function dropDocument({ documentId, storeId }: Reference): Promise<void> {
  await send("delete", "/documents/{documentId}", { documentId }, undefined, { query: storeId ? { storeId } : {} }).catch(() => undefined);
}
