// Why the server did not do what was asked, where it was asked.
import { isDoubtful, reasonOf } from "../../parts/reason";
import { text } from "../../text";

export function Refusal({ error }: { error: unknown }) {
  if (error === undefined) return null;
  return (
    <div className="change-refusal" role="alert">
      <b>{isDoubtful(error) ? text.commands.doubt : text.change.refused}</b>
      <p>{reasonOf(error)}</p>
    </div>
  );
}
