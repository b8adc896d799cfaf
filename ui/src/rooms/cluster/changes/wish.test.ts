// A change request has only the fields that were filled in and that differ from the current state.
import { expect, it } from "vitest";
import { NONE, checked, idsIn, stepText } from "./wish";

const NOW = { partitions: 3, copies: 2 };

it("reads ids with commas or blanks between them, each once", () => {
  expect(idsIn("")).toEqual([]);
  expect(idsIn(" 3, 4 5,3")).toEqual([3, 4, 5]);
  for (const wrong of ["x", "3;4", "-1", "1.5", "12345678901"]) expect(idsIn(wrong), wrong).toBeUndefined();
});

it("asks for what differs", () => {
  expect(checked({ ...NONE, add: "3" }, NOW)).toEqual({ wanted: { brokers: { add: [3] } } });
  expect(checked({ add: "", remove: [1], partitions: "6", copies: "3" }, NOW)).toEqual({
    wanted: { brokers: { remove: [1] }, partitions: { count: 6, replicationFactor: 3 } },
  });
  expect(checked({ ...NONE, partitions: "6", copies: "2" }, NOW)).toEqual({ wanted: { partitions: { count: 6 } } });
});

it("refuses what is nothing, and says which field is wrong", () => {
  expect(checked({ ...NONE, partitions: "3" }, NOW)).toEqual({ wrong: { all: "Say what is to change" } });
  expect(Object.keys((checked({ add: "a", remove: [], partitions: "0", copies: "two" }, NOW) as { wrong: object }).wrong)).toEqual(["add", "partitions", "copies"]);
});

it("says a step in words, also one of a later version", () => {
  expect(stepText({ operation: "PARTITION_JOIN", brokerId: 3, partitionId: 2, priority: 1 })).toBe("Broker 3 gets a copy of partition 2");
  expect(stepText({ operation: "BROKER_ADD", brokerId: 0 })).toBe("Add broker 0");
  expect(stepText({ operation: "ZONE_ADD" })).toBe("Zone add");
});
