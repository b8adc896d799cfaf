// What a person may enter.
import { expect, test } from "vitest";
import type { Me, Session } from "../../api/session";
import { closedRoom, mayEnter } from "./rights";
import { isOurs } from "./next";

const me = (...authorizedComponents: string[]): Session => ({ kind: "in", me: { username: "anna", authorizedComponents } as unknown as Me });

test("access to a component opens its rooms, and no others", () => {
  expect(mayEnter(me("tasklist"), "tasklist")).toBe(true);
  expect(mayEnter(me("tasklist"), "operate")).toBe(false);
  expect(mayEnter(me("identity"), "admin")).toBe(true);
  expect(mayEnter(me("*"), "admin")).toBe(true);
  expect(mayEnter(me(), undefined)).toBe(true);
});

test("where nobody is asked everything is open", () => {
  expect(mayEnter({ kind: "open", why: "absent" }, "admin")).toBe(true);
});

test("an address within a closed room is closed", () => {
  expect(closedRoom(me("tasklist"), "/processes/i/1")?.to).toBe("/processes");
  expect(closedRoom(me("tasklist"), "/tasks")).toBeUndefined();
  expect(closedRoom(me(), "/")).toBeUndefined();
  expect(closedRoom(me(), "/help")).toBeUndefined();
});

test("after a login one goes on within the interface, and nowhere else", () => {
  expect(["/processes?a=b", "/studio/x#y"].every(isOurs)).toBe(true);
  expect(["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "", "/login", "/login?next=/x", "/\tx"].some(isOurs)).toBe(false);
});
