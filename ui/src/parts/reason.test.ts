// The reason that is shown when a command is refused, or has no answer in time.
import { expect, test } from "vitest";
import { Problem, problemOf } from "../api/problem";
import { text } from "../text";
import { isDoubtful, reasonOf } from "./reason";

const saidOf = async (body: string) => reasonOf(await problemOf(new Response(body, { status: 502, statusText: "Bad Gateway" })));

test("only a command whose answer is missing may have been carried out all the same", () => {
  const doubtful = [0, 400, 403, 404, 409, 413, 429, 500, 501, 502, 503, 504].filter((status) => isDoubtful(new Problem(status, "", "")));
  expect(doubtful).toEqual([0, 502, 504]);
  expect(isDoubtful(new Error("a bug of a page"))).toBe(false);
});

test("without any answer it is said what to look at", () => {
  expect(reasonOf(new Problem(0, "NO_ANSWER", "Failed to fetch"))).toBe(`${text.words.failure.NO_ANSWER}. ${text.commands.doubtText}`);
});

test("a page that a proxy answers with is not shown as a sentence", async () => {
  expect(await saidOf("\n<html><body><h1>502</h1></body></html>")).toBe("Bad Gateway");
  expect(await saidOf("no upstream")).toBe("no upstream");
  expect(await saidOf('{"title":"UNAVAILABLE","detail":"It stops."}')).toBe("It stops.");
});
