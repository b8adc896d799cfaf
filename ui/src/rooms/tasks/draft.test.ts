// A draft brings back what somebody wrote, and no more.
import { expect, it } from "vitest";
import { withDraft } from "./draft";

it("brings back what was touched, over what has changed meanwhile", () => {
  const draft = { form: { order: { was: { count: 1, note: "old" }, is: { count: 2, note: "old" } }, fresh: { was: undefined, is: true } }, variables: {} };
  expect(withDraft({ order: { count: 1, note: "new" }, other: 7 }, draft)).toEqual({ order: { count: 2, note: "new" }, other: 7, fresh: true });
});
