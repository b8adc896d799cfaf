// Findings stand at their elements, and a draft is told what it would become.
import { expect, test } from "vitest";
import type { Checked } from "../../api/commands";
import { findingsOf, verdict } from "./findings";

type Found = Checked["findings"][number];
const found = (part: Partial<Found>): Found => ({ resource: "a.bpmn", rule: "X", processId: "p", elementId: null, line: null, message: "no", ...part });
const refused = (...findings: Found[]): Checked => ({ deployable: false, findings, furtherFindings: 2, resources: [] });
const accepted = (...resources: [version: number, changed: boolean][]): Checked => ({
  deployable: true, findings: [], furtherFindings: 0,
  resources: resources.map(([version, changed], at) => ({ type: "PROCESS", id: `p${at}`, version, resource: "a.bpmn", changed })),
});

test("findings name their element, or else their line", () => {
  expect(findingsOf(refused(found({ elementId: "t", line: 3 }), found({ rule: null, line: 7 }), found({})))).toEqual([
    { element: "t", code: "X", message: "no" },
    { element: undefined, code: undefined, message: "no (line 7)" },
    { element: undefined, code: "X", message: "no" },
  ]);
});

test("a verdict counts all findings, or names the version", () => {
  expect(verdict(refused(found({})))).toBe("3 findings");
  expect(verdict(accepted([1, false], [4, false]))).toBe("As it is deployed");
  expect(verdict(accepted([2, true], [5, true]))).toBe("Would be version 5");
});
