// Which incidents the list and the buttons of a group are about.

import { describe, expect, it } from "vitest";
import { bulkFilter, listFilter } from "./filter";

const error = { errorHashCode: -17, errorMessage: "Card expired", activeInstancesWithErrorCount: 7 };

describe("what is listed and what is retried", () => {
  it("is everything without an error, whatever else an address says", () => {
    expect(listFilter(undefined, { process: "1", element: "charge" })).toEqual({});
    expect(bulkFilter(undefined, { process: "1", element: "charge" })).toEqual({ state: "ACTIVE", hasIncident: true });
  });

  it("is of the error in all processes", () => {
    expect(listFilter(error, {})).toEqual({ errorMessage: "Card expired" });
    expect(bulkFilter(error, {})).toEqual({ state: "ACTIVE", hasIncident: true, incidentErrorHashCode: -17 });
  });

  it("is of one process, and of one element in it", () => {
    expect(listFilter(error, { process: "2251799813685249" })).toEqual({ errorMessage: "Card expired", processDefinitionKey: "2251799813685249" });
    expect(listFilter(error, { process: "2251799813685249", element: "charge" })).toMatchObject({ elementId: "charge" });
    expect(bulkFilter(error, { process: "2251799813685249", element: "charge" })).toEqual({
      state: "ACTIVE",
      hasIncident: true,
      incidentErrorHashCode: -17,
      processDefinitionKey: "2251799813685249",
      elementId: "charge",
      elementInstanceState: "ACTIVE",
      hasElementInstanceIncident: true,
    });
  });
});
