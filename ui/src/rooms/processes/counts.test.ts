// Which filters the numbers that the store keeps can answer.
import { expect, test } from "vitest";
import { type CountFilter, atWork } from "../../api/processes";
import { filterOf } from "./filter";

const of = (state: string) => atWork(filterOf({ state }) as CountFilter);

test("the chips of instances at work are answered by what the store keeps", () => {
  expect(of("active,incident")).toEqual({});
  expect(of("active")).toEqual({ hasIncident: false });
  expect(of("incident")).toEqual({ hasIncident: true });
});

test("what ended, and any other condition, must be counted row by row", () => {
  for (const search of [{}, { state: "completed" }, { state: "active,completed" }, { state: "active", business: "a" }, { state: "active", var: ["a = 1"] }])
    expect(atWork(filterOf(search) as CountFilter)).toBeUndefined();
});
