// An address has the order of a list, and one that the list does not have is the usual one.
import { expect, test } from "vitest";
import { type Order, orderIn, orderText, withKey } from "./order";

const FIELDS = ["startDate", "state"] as const;
const usual: Order<(typeof FIELDS)[number]> = { field: "startDate", order: "DESC" };

test("a field is named, with a dash for the last first", () => {
  expect(orderIn("state", FIELDS, usual)).toEqual({ field: "state", order: "ASC" });
  expect(orderIn("-state", FIELDS, usual)).toEqual({ field: "state", order: "DESC" });
  for (const unknown of [undefined, "", "-", "actorId", "-actorId"]) expect(orderIn(unknown, FIELDS, usual)).toEqual(usual);
  expect(["-state", "startDate"].map((sort) => orderText(orderIn(sort, FIELDS, usual)))).toEqual(["-state", "startDate"]);
});

test("the key comes last, once", () => {
  expect(withKey(usual, "key")).toEqual([usual, { field: "key", order: "DESC" }]);
  expect(withKey({ field: "key", order: "ASC" }, "key")).toEqual([{ field: "key", order: "ASC" }]);
});
