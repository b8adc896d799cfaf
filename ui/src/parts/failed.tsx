// A command that was refused is told with the server's reason, and the page of its code.
import { Problem } from "../api/problem";
import { text } from "../text";
import { announce } from "./announce";
import { Explained } from "./Explained";
import { reasonOf } from "./reason";

export function failed(error: unknown) {
  const isTold = !(error instanceof Problem) || error.status === 0 || error.lack !== undefined;
  announce(
    "failed",
    text.commands.failed,
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
