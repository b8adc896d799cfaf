// A refusal is read for where it points.
import { expect, test } from "vitest";
import { findingsOf } from "./findings";

test("findings stand at their elements, each with its code", () => {
  const detail = `Command 'CREATE' rejected with code 'INVALID_ARGUMENT': Expected to deploy new resources, but encountered the following errors:
'bad.bpmn':
- Element: t (serviceTask) in process 'bad'
    - ERROR[EXTENSION_MISSING]: A service task must have exactly one 'zeebe:taskDefinition', but has none. Add it (line 3)
    - ERROR: Must have something else
- Element: u (userTask) in process 'bad'
    - ERROR[X]: no`;
  expect(findingsOf(detail)).toEqual([
    { element: "t", code: "EXTENSION_MISSING", message: "A service task must have exactly one 'zeebe:taskDefinition', but has none. Add it (line 3)" },
    { element: "t", code: undefined, message: "Must have something else" },
    { element: "u", code: "X", message: "no" },
  ]);
});

test("what is said otherwise is said as it is", () => {
  expect(findingsOf("The body is too large.")).toEqual([{ element: undefined, code: undefined, message: "The body is too large." }]);
});
