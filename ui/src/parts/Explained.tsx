// The way to the page of an error code, where it has one.
import { Link } from "@tanstack/react-router";
import { text } from "../text";

/** Titles of answers, and types of incidents. */
export const explained: ReadonlySet<string> = new Set(
  ("INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED NOT_FOUND ALREADY_EXISTS FAILED_PRECONDITION RESOURCE_EXHAUSTED UNAVAILABLE " +
    "DEADLINE_EXCEEDED ABORTED UNIMPLEMENTED INTERNAL EXCEEDED_BATCH_RECORD_SIZE PRECONDITION_FAILED PRECONDITION_REQUIRED BACKUP_FAILED UNKNOWN " +
    "IO_MAPPING_ERROR JOB_NO_RETRIES EXECUTION_LISTENER_NO_RETRIES TASK_LISTENER_NO_RETRIES AD_HOC_SUB_PROCESS_NO_RETRIES CONDITION_ERROR " +
    "EXTRACT_VALUE_ERROR CALLED_ELEMENT_ERROR UNHANDLED_ERROR_EVENT MESSAGE_SIZE_EXCEEDED CALLED_DECISION_ERROR DECISION_EVALUATION_ERROR " +
    "FORM_NOT_FOUND RESOURCE_NOT_FOUND").split(" "),
);

/** What REST calls otherwise. */
const ALSO: Readonly<Record<string, string>> = {
  UNAUTHORIZED: "UNAUTHENTICATED",
  FORBIDDEN: "PERMISSION_DENIED",
  INVALID_STATE: "FAILED_PRECONDITION",
  NOT_IMPLEMENTED: "UNIMPLEMENTED",
};

export const pageNamed = (title: string): string | undefined => ALSO[title] ?? (explained.has(title) ? title : undefined);

/** `of` is the title of an answer or the type of an incident; nothing for one that has no page. */
export function Explained({ of }: { of: string }) {
  const code = pageNamed(of);
  if (code === undefined) return null;
  return (
    <Link to="/help/errors/$code" params={{ code }} className="explained">
      {text.words.explain}
    </Link>
  );
}
