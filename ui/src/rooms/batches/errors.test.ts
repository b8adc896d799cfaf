// Messages of one kind are counted together.
import { expect, it } from "vitest";
import { grouped } from "./errors";

const gone = (key: string) => `There is no instance with key ${key}`;

it("counts messages that differ in a key alone together, the most frequent first", () => {
  expect(grouped([gone("2251799813685250"), "Too late after 30 s", gone("4503599627370497"), "Only once for 2251799813685251"])).toEqual([
    { message: "There is no instance with key …", count: 2 },
    { message: "Only once for 2251799813685251", count: 1 },
    { message: "Too late after 30 s", count: 1 },
  ]);
  expect(grouped([])).toEqual([]);
});
