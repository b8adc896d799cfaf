// Pages of errors are Markdown of the documentation: what of it is shown, and how.

import { expect, test } from "vitest";
import { blocksOf, piecesOf } from "./markdown";

test("headings, paragraphs of several lines, lists and code become blocks", () => {
  expect(blocksOf("# GONE\n\n*A server's.*\n\n## What to do\n\nWait\nfor it.\n\n- one\n  and on\n- two\n\n```xml\n<a>\n\n</a>\n```\n\nEnd.\n")).toEqual([
    { kind: "heading", level: 1, text: "GONE" },
    { kind: "text", text: "*A server's.*" },
    { kind: "heading", level: 2, text: "What to do" },
    { kind: "text", text: "Wait for it." },
    { kind: "list", items: ["one and on", "two"] },
    { kind: "code", text: "<a>\n\n</a>" },
    { kind: "text", text: "End." },
  ]);
});

test("a table stays as it is written", () => {
  expect(blocksOf("- see:\n  | a | b |\n  |---|---|\n")).toEqual([
    { kind: "list", items: ["see:"] },
    { kind: "code", text: "| a | b |\n|---|---|" },
  ]);
});

test("a fence that is not closed goes to the end", () => {
  expect(blocksOf("```\nx\n")).toEqual([{ kind: "code", text: "x\n" }]);
});

test("code, emphasis and links are pieces of a sentence, and what looks like HTML is text", () => {
  expect(piecesOf("Run `a *b*`, *then* see [`X`](X.md) <b>")).toEqual([
    { kind: "text", text: "Run " },
    { kind: "code", text: "a *b*" },
    { kind: "text", text: ", " },
    { kind: "strong", text: "then" },
    { kind: "text", text: " see " },
    { kind: "link", text: "X", to: "X.md" },
    { kind: "text", text: " <b>" },
  ]);
});
