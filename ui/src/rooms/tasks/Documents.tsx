// The documents that variables of a task refer to.
import { FileText } from "lucide-react";
import { type Reference, documentUrl, isReference } from "../../api/documents";
import type { TaskVariable } from "../../api/tasks";
import { Time } from "../../parts/Time";
import { text } from "../../text";

const t = text.tasks;

function referencesIn(value: unknown, found: Reference[] = []): Reference[] {
  if (isReference(value)) found.push(value);
  else if (Array.isArray(value)) for (const each of value) referencesIn(each, found);
  else if (typeof value === "object" && value !== null) for (const each of Object.values(value)) referencesIn(each, found);
  return found;
}

export function Documents({ variables }: { variables: readonly TaskVariable[] }) {
  const all = variables.filter(({ value }) => value.includes("camunda.document.type")).flatMap(({ value }) => referencesIn(JSON.parse(value) as unknown));
  const found = [...new Map(all.map((each) => [`${each.storeId} ${each.documentId}`, each])).values()];
  if (found.length === 0) return null;
  return (
    <section className="documents" aria-label={t.documents}>
      <h3>{t.documents}</h3>
      <ul>
        {found.map((each) => (
          <li key={`${each.storeId} ${each.documentId}`}>
            <FileText size={16} aria-hidden="true" />
            <a className="clip" href={documentUrl(each)} download={each.metadata.fileName ?? each.documentId} title={each.metadata.fileName ?? each.documentId}>
              {each.metadata.fileName ?? each.documentId}
            </a>
            <span className="faint figure">{typeof each.metadata.size === "number" ? t.documentSize(each.metadata.size) : ""}</span>
            {each.metadata.expiresAt ? (
              <span className="faint">
                {`${t.documentExpires} `}
                <Time at={each.metadata.expiresAt} />
              </span>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
