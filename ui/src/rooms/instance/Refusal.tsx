// Why the server did not do what was asked, where it was asked.
import { Problem } from "../../api/problem";
import { text } from "../../text";

export function Refusal({ error }: { error: unknown }) {
  if (error === undefined) return null;
  const detail = !(error instanceof Problem) ? String(error) : error.status === 0 ? text.words.failure.NO_ANSWER : error.detail;
  return (
    <div className="change-refusal" role="alert">
      <b>{text.change.refused}</b>
      <p>{detail}</p>
    </div>
  );
}
