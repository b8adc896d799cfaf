// Each thing that an instance waits for has somebody who can go on in its place, but for time.
import { expect, test } from "vitest";
import type { WaitCause } from "../../../api/instances";
import { actsFor, noteOf, takesVariables } from "./acts";

const cause = (kind: string): WaitCause => ({ for: kind, since: null }) as unknown as WaitCause;

test("what fits stands first", () => {
  const first = ["INCIDENT", "JOB", "USER_TASK", "MESSAGE", "SIGNAL", "CONDITION", "TIMER", "CALLED_INSTANCE"].map((kind) => actsFor(cause(kind))[0]);
  expect(first).toEqual(["retry", "complete", "finish", "publish", "broadcast", "set", undefined, undefined]);
});

test("a failure says why, an error has a code, and a failure takes no variables", () => {
  expect([noteOf("fail"), noteOf("error"), noteOf("complete")]).toEqual(["message", "code", undefined]);
  expect([takesVariables("fail"), takesVariables("retry")]).toEqual([false, true]);
});
