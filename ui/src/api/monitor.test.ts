// Slots are whole, follow each other, and end with the one of this moment.
import { expect, test } from "vitest";
import { slotsOf } from "./monitor";

const NOW = Date.parse("2026-11-25T10:07:30.000Z");

test("an hour is twelve slots of five minutes, of which the last two are open", () => {
  const slots = slotsOf("hour", NOW);
  expect(slots).toHaveLength(12);
  expect(slots[0]).toEqual({ from: "2026-11-25T09:10:00.000Z", to: "2026-11-25T09:15:00.000Z", open: false });
  expect(slots.at(-1)).toEqual({ from: "2026-11-25T10:05:00.000Z", to: "2026-11-25T10:10:00.000Z", open: true });
  expect(slots.filter(({ open }) => open)).toHaveLength(2);
  expect(slots.every(({ from }, at) => at === 0 || slots[at - 1]?.to === from)).toBe(true);
});

test("a moment on a border begins its slot", () => {
  expect(slotsOf("day", Date.parse("2026-11-25T10:00:00.000Z")).at(-1)?.from).toBe("2026-11-25T10:00:00.000Z");
});
