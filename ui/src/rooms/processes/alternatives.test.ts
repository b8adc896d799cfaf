// Alternatives: what the page shows as "either … or …" is what is sent, and what the next condition is added to.
import { expect, test } from "vitest";
import { parseSearch, stringifySearch } from "../../app/search";
import { added } from "./adding";
import { MOST_ALTERNATIVES, alternative, alternativesOf, withAlternatives, withoutUnread } from "./alternatives";
import { countFilter, filterOf, unread } from "./filter";
import { type ProcessSearch, isFiltered, processSearch, withoutFilters } from "./search";
import { eitherOf } from "./words";

const two: ProcessSearch = added(added({ process: "order" }, "and", { var: ["amount = 99"] }), "or", { error: "*timed out*" });

test("the first alternative is made of the conditions that were there", () => {
  expect(two).toMatchObject({ process: "order", or: ["var=amount+%3D+99", "error=*timed+out*"] });
  expect(two.var).toBeUndefined();
  expect(filterOf(two)).toEqual({
    processDefinitionId: "order",
    $or: [{ variables: [{ name: "amount", value: "99" }] }, { errorMessage: { $like: "*timed out*" } }],
  });
  expect(eitherOf(two)).toEqual(["either Variable amount = 99, or Error *timed out*"]);
});

test("a further condition holds for all of them, or within one", () => {
  expect(filterOf(added(two, "and", { business: "b-1" }))).toMatchObject({ businessId: "b-1", $or: [{}, {}] });
  const within = added(two, 1, { business: "b-1" });
  expect(filterOf(within)?.$or?.[1]).toEqual({ errorMessage: { $like: "*timed out*" }, businessId: "b-1" });
  expect(eitherOf(within)).toEqual(["either Variable amount = 99, or Error *timed out* and Business id b-1"]);
  expect(filterOf(added(two, "or", { business: "b-1" }))?.$or).toHaveLength(3);
});

test("an address says the same alternatives again, whatever is in them", () => {
  const search = added(two, "or", { var: ['a = "x&or=y+%"', 'b in ["1","2"]'], from: "2026-11-24T10:00:00.000Z" });
  expect(processSearch(parseSearch(stringifySearch({ ...search }).slice(1)))).toEqual(JSON.parse(JSON.stringify(search)));
});

test("states that are alternatives themselves are asked for with each of the others", () => {
  expect(filterOf({ ...two, state: "incident,completed" })?.$or).toEqual([
    { state: "ACTIVE", hasIncident: true, variables: [{ name: "amount", value: "99" }] },
    { state: "ACTIVE", hasIncident: true, errorMessage: { $like: "*timed out*" } },
    { state: { $in: ["COMPLETED"] }, variables: [{ name: "amount", value: "99" }] },
    { state: { $in: ["COMPLETED"] }, errorMessage: { $like: "*timed out*" } },
  ]);
});

test("an element in an alternative is counted by the diagram too: it is not the one that was chosen there", () => {
  const filter = filterOf({ process: "order", element: "pack", state: "active", or: ["element=charge", "business=b-1"] });
  expect(countFilter(filter ?? {})).toEqual({
    state: "ACTIVE",
    hasIncident: false,
    $or: [{ elementId: "charge", elementInstanceState: "ACTIVE" }, { businessId: "b-1" }],
  });
});

test("half an alternative in a link finds nothing: without it, more or less would be found than was meant", () => {
  for (const or of [["colour=red"], ["error=x", "var=amount"], ["error=x", "from=yesterday"], ["error"], Array.from({ length: MOST_ALTERNATIVES + 1 }, (_, n) => `business=b-${n}`)]) {
    expect(filterOf({ or }), or.join("|")).toBeUndefined();
    expect(unread({ or })).toBeDefined();
  }
  expect(alternative("error=x&var=a+%3D+1")).toEqual({ error: "x", var: ["a = 1"] });
});

test("an alternative that cannot be read stays while others are taken away or added, and goes only by itself", () => {
  const link: ProcessSearch = { process: "order", or: ["colour=red", "var=amount+%3D+99", "error=*timed+out*"] };
  const [first = {}, second = {}] = alternativesOf(link);
  const one = withAlternatives(link, [{}, second]);
  expect(one.or).toEqual(["error=*timed+out*", "colour=red"]);
  const none = withAlternatives(one, [{}]);
  expect(none.or).toEqual(["colour=red"]);
  for (const left of [one, none, added(link, "or", { business: "b-1" }), added(none, "or", { business: "b-1" }), added(link, 0, { business: "b-1" }), withAlternatives(link, [first])]) {
    expect(filterOf(left), JSON.stringify(left)).toBeUndefined();
    expect(unread(left)).toBe("colour=red");
  }
  expect(withoutUnread(one, "colour=red")).toEqual({ process: "order", error: "*timed out*", var: undefined, or: undefined });
  expect(withoutUnread(none, "colour=red")).toEqual({ process: "order", or: undefined });
});

test("alternatives are a filter, and go with all others", () => {
  expect(isFiltered(two)).toBe(true);
  expect(withoutFilters(two).or).toBeUndefined();
});
