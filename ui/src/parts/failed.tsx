// A command that was refused is told with the server's reason, and the page of its code.
import { Problem } from "../api/problem";
import { text } from "../text";
import { announce } from "./announce";
import { Explained } from "./Explained";
import { lackText } from "./lack";

export function failed(error: unknown) {
  const words = text.words.failure;
  const detail = !(error instanceof Problem) ? String(error) : error.status === 0 ? words.NO_ANSWER : error.lack ? lackText(error.lack) : error.detail;
  const isTold = !(error instanceof Problem) || error.status === 0 || error.lack !== undefined;
  announce(
    "failed",
    text.commands.failed,
    <>
      {detail}
      {isTold ? null : (
        <p>
          <Explained of={error.title} />
        </p>
      )}
    </>,
  );
}
