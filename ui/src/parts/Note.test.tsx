// What a failure says in its place.
import { RouterContextProvider, createMemoryHistory, createRootRoute, createRouter } from "@tanstack/react-router";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Problem } from "../api/problem";
import { text } from "../text";
import { Failure } from "./Note";

// Links lead to the page of an error.
const router = createRouter({ routeTree: createRootRoute(), history: createMemoryHistory() });
const shown = (status: number, title: string, detail: string) =>
  renderToStaticMarkup(
    <RouterContextProvider router={router as never}>
      <Failure problem={new Problem(status, title, detail)} />
    </RouterContextProvider>,
  );

test("what a server does not have is said as that, with the server's own sentence", () => {
  const page = shown(501, "NOT_IMPLEMENTED", "This server keeps no audit log.");
  expect(page).toContain(text.words.failure.absent);
  expect(page).toContain("This server keeps no audit log.");
});

test("no other failure is taken for something that is absent", () => {
  for (const status of [0, 400, 403, 404, 500, 503]) expect(shown(status, "INTERNAL", "It broke."), String(status)).not.toContain(text.words.failure.absent);
});

test("searches of a server without secondary storage name the setting", () => {
  const page = shown(403, "FORBIDDEN", "The secondary storage is off.");
  expect(page).toContain("camunda.data.secondary-storage.type: none");
  expect(page).not.toContain(text.words.failure.absent);
});
