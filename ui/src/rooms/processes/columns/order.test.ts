// Rows are sorted by a variable as its values mean, with every digit, and what has none comes last.
import { expect, test } from "vitest";
import { cellOf } from "../../../api/columns";
import type { Instance } from "../../../api/instances";
import { asKey } from "../../../api/keys";
import { compare, sorted, variableSort } from "./order";

test("numbers are numbers, with all digits, and stand before texts and the rest", () => {
  const values = ['"b 10"', "null", "10", "9", '"b 9"', "-1", "12345678901234567891", "12345678901234567890", "1.5", "true", '"a"'];
  expect(values.toSorted(compare)).toEqual(["-1", "1.5", "9", "10", "12345678901234567890", "12345678901234567891", '"a"', '"b 9"', '"b 10"', "null", "true"]);
});

test("rows without the variable come last, whatever the direction, and equal ones keep their order", () => {
  const rows = ["1", "2", "3", "4"].map((key) => ({ processInstanceKey: asKey(key) }) as Instance);
  const values = new Map(Object.entries({ 2: "7", 3: "20", 4: "7" }).map(([key, value]) => [cellOf(asKey(key), "n"), value]));
  const order = (descending: boolean) => sorted(rows, values, { name: "n", descending }).map((row) => row.processInstanceKey);
  expect(order(false)).toEqual(["2", "4", "3", "1"]);
  expect(order(true)).toEqual(["3", "2", "4", "1"]);
});

test("an order is by a variable only while that is a column", () => {
  expect(variableSort("-variable amount", ["amount"])).toEqual({ name: "amount", descending: true });
  expect(variableSort("variable amount", ["amount"])).toEqual({ name: "amount", descending: false });
  expect(variableSort("variable amount", ["city"])).toBeUndefined();
  expect(variableSort("-startDate", ["startDate"])).toBeUndefined();
  expect(variableSort(undefined, ["amount"])).toBeUndefined();
});
