// Shows why a command failed: the reason of the server and the page of its code, or that the outcome is not known.
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
