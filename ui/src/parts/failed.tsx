// A command that was refused is told with the server's reason, and the page of its code; so is one of which it is not known what became.
import { Problem } from "../api/problem";
import { text } from "../text";
import { announce } from "./announce";
import { Explained } from "./Explained";
import { isDoubtful, reasonOf } from "./reason";

/** Returns what takes the notice away. */
export function failed(error: unknown): () => void {
  const isTold = !(error instanceof Problem) || error.status === 0 || error.lack !== undefined;
  return announce(
    "failed",
    isDoubtful(error) ? text.commands.doubt : text.commands.failed,
    <>
      {reasonOf(error)}
      {isTold ? null : (
        <p>
          <Explained of={error.title} />
        </p>
      )}
    </>,
  );
}
