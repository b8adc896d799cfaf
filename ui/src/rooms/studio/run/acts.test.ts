// Each thing that an instance waits for has somebody who can go on in its place.
import { expect, test } from "vitest";
import { actsFor, noteOf, takesVariables } from "./acts";

test("what fits stands first", () => {
  const first = (["INCIDENT", "JOB_WITHOUT_WORKER", "JOB_AT_WORK", "USER_TASK", "MESSAGE", "SIGNAL", "CONDITION", "TIMER", "CALLED_INSTANCE"] as const).map((cause) => actsFor({ cause })[0]);
  expect(first).toEqual(["retry", "complete", "complete", "finish", "publish", "broadcast", "set", "move", undefined]);
});

test("a failure says why, an error has a code, and neither a failure nor the clock takes variables", () => {
  expect([noteOf("fail"), noteOf("error"), noteOf("complete")]).toEqual(["message", "code", undefined]);
  expect([takesVariables("fail"), takesVariables("move"), takesVariables("retry")]).toEqual([false, false, true]);
});
