// Which deleted versions stand for something that is not deployed any more, and which version is the newest that is.
import { expect, test } from "vitest";
import { leftOver } from "./leftover";
import { type Definition, newestOf } from "./processes";

const named = (id: string, version: number) => ({ id, version });
const of = ({ id }: { id: string }) => id;

test("one version is left over of what has none deployed, the first that is listed", () => {
  expect(leftOver([named("a", 3), named("b", 2), named("a", 2), named("a", 1)], [named("b", 1)], of)).toEqual([named("a", 3)]);
});

test("the newest version is one that was not deleted", () => {
  const versions = [{ version: 3, state: "DELETED" }, { version: 2, state: "ACTIVE" }, { version: 1, state: "ACTIVE" }] as Definition[];
  expect(newestOf(versions)?.version).toBe(2);
  expect(newestOf(versions.slice(0, 1))).toBeUndefined();
});
