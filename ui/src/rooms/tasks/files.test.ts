// Fields for files: what is in the form, what is sent, and that documents that are there already stay.
import { expect, test } from "vitest";
import type { Reference } from "../../api/documents";
import { fileFields, shownSafely, withReferences, withoutFiles } from "./files";

const photo: Reference = { "camunda.document.type": "camunda", storeId: "local", documentId: "1", contentHash: "a", metadata: { fileName: "a.png", contentType: "image/png" } };
const schema = JSON.stringify({ components: [{ type: "filepicker", key: "photos" }, { type: "group", components: [{ type: "filepicker", key: "claim.bill" }] }, { type: "textfield", key: "note" }] });
const names = fileFields(schema);

test("fields for files are found within groups", () => {
  expect([...names]).toEqual(["photos", "bill"]);
});

test("a form does not see documents in its fields for files, and all else", () => {
  expect(withoutFiles({ photos: [photo], note: "x", claim: { bill: null, amount: 1 } }, names)).toEqual({ note: "x", claim: { amount: 1 } });
  // Somebody's variable of the same name, which is no document.
  expect(withoutFiles({ photos: "none" }, names)).toEqual({ photos: "none" });
});

test("chosen files become references where they stand, and fields without one are not sent", () => {
  const kept = new Map([["files::1", [photo]]]);
  expect(withReferences({ photos: "files::1", note: "x", claim: { bill: null } }, names, kept)).toEqual({ photos: [photo], note: "x", claim: {} });
  expect(withReferences({ photos: "files::2" }, names, kept)).toEqual({});
});

test("only pictures are shown within a form", () => {
  const bill = { ...photo, metadata: { fileName: "b.pdf", contentType: "application/pdf" } };
  expect(shownSafely({ list: [photo, bill] })).toEqual({ list: [photo, { ...photo, metadata: { fileName: "b.pdf" } }] });
});
