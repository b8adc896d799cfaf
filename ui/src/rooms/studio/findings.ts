// What the server finds against a draft, by element, and which version it would become.
import type { Checked } from "../../api/commands";
import { text } from "../../text";

export interface Finding {
  /** Where: the id of an element, if it names one. */
  element: string | undefined;
  code: string | undefined;
  message: string;
}

/** The line is of use only where no element is named. */
export const findingsOf = ({ findings }: Checked): Finding[] =>
  findings.map(({ elementId, rule, line, message }) => ({
    element: elementId ?? undefined,
    code: rule ?? undefined,
    message: elementId === null && line !== null ? text.studio.atLine(message, line) : message,
  }));

/** In one line: what stands against it, or what it would become. */
export function verdict(checked: Checked): string {
  const { deployable, findings, furtherFindings, resources } = checked;
  if (!deployable) return text.studio.wrong(findings.length + furtherFindings);
  if (resources.every(({ changed }) => !changed)) return text.studio.unchanged;
  return text.studio.becomes(Math.max(...resources.map(({ version }) => version)));
}
