// Of a job that is sent which differs, and a time only while a worker has it.
import { expect, it } from "vitest";
import { changeOf, isHeld, isOpen, wrongIn } from "./change";

const NOW = Date.parse("2026-11-28T12:00:00Z");
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();

it("sends what differs and no more", () => {
  expect(changeOf({ retries: 3 }, { retries: "3", seconds: "" })).toBeUndefined();
  expect(changeOf({ retries: 3 }, { retries: "5", seconds: "" })).toEqual({ retries: 5 });
  expect(changeOf({ retries: 3 }, { retries: "3", seconds: " 60 " })).toEqual({ timeout: 60_000 });
  expect(changeOf({ retries: 0 }, { retries: "1", seconds: "1" })).toEqual({ retries: 1, timeout: 1_000 });
});

const wrong = (retries: string, seconds = "") => wrongIn({ retries, seconds });

it("refuses what the server would", () => {
  expect([wrong("1"), wrong("2147483647"), wrong("1", "30")]).toEqual([undefined, undefined, undefined]);
  expect([wrong("0"), wrong("-1"), wrong(""), wrong("1.5"), wrong("2147483648")]).toEqual(Array(5).fill("retries"));
  expect([wrong("1", "0"), wrong("1", "soon")]).toEqual(["seconds", "seconds"]);
});

it("knows which jobs a worker has, and which are over", () => {
  expect([isHeld({ state: "CREATED", deadline: at(5) }, NOW), isHeld({ state: "CREATED", deadline: at(-5) }, NOW), isHeld({ state: "CREATED", deadline: null }, NOW), isHeld({ state: "FAILED", deadline: at(5) }, NOW)]).toEqual([true, false, false, false]);
  expect([isOpen({ state: "RETRIES_UPDATED" }), isOpen({ state: "FAILED" }), isOpen({ state: "COMPLETED" }), isOpen({ state: "ERROR_THROWN" })]).toEqual([true, true, false, false]);
});
