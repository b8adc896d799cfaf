// A filter is read as the page said it on which it was made, and nothing of it is left out.
import { expect, test } from "vitest";
import { pairsOf, termsOf } from "./terms";

const words = (filter: Record<string, unknown>) => termsOf(filter).map(({ name, value }) => `${name}: ${value}`);

const pair = (source: string, target: string) => ({ sourceElementId: source, targetElementId: target });

test("conditions have the names and values that people gave them", () => {
  expect(words({ processDefinitionId: "order", state: "ACTIVE", hasIncident: true, elementId: "charge", errorMessage: { $like: "*timed out*" } })).toEqual([
    "Process: order", "State: Active", "Incident: yes", "Element: charge", "Error: *timed out*",
  ]);
  expect(words({ variables: [{ name: "n", value: "12345678901234567890" }, { name: "city", value: { $neq: '"Bonn"' } }, { name: "a", value: { $in: ["1", "2"] } }] })).toEqual([
    "Variable: n = 12345678901234567890", 'Variable: city not "Bonn"', "Variable: a 1, 2",
  ]);
});

test("operators, moments and long lists are said, and what nobody thought of as well", () => {
  const [started] = words({ startDate: { $gte: "2026-11-29T10:00:00.000Z", $lte: "no moment" } });
  expect(started).toMatch(/^Started: ≥ .*2026.* and ≤ no moment$/);
  expect(words({ processInstanceKey: { $in: ["1", "2", "3", "4", "5", "6"] } })).toEqual(["Keys: 1, 2, 3, 4 and 2 more"]);
  expect(words({ processInstanceKey: { $notIn: ["1"], $exists: false }, incidentErrorHashCode: -5, businessId: null, batchKind: { $new: "x" } })).toEqual([
    "Keys: not 1 and is not set", "Incident error hash code: -5", "Batch kind: $new x",
  ]);
});

test("alternatives are one sentence", () => {
  expect(words({ $or: [{ state: "ACTIVE", elementId: "charge" }, { state: { $in: ["COMPLETED", "TERMINATED"] } }] })).toEqual([
    "either: State Active and Element charge, or State Completed, Cancelled",
  ]);
});

test("of a plan those elements are said that change", () => {
  expect(pairsOf([pair("a", "a"), pair("b", "c")])).toBe("b → c");
  expect(pairsOf([pair("a", "a")])).toBe("");
});
