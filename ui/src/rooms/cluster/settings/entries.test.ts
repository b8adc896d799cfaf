// Settings are found by what they are called, what they are, and where that was said.
import { expect, it } from "vitest";
import { entriesOf, matching } from "./entries";

const entries = entriesOf({
  contexts: {
    skep: {
      beans: {
        "server.port": { prefix: "server", properties: {}, inputs: { port: { value: "8080", origin: "default" } } },
        "camunda.cluster": {
          prefix: "camunda.cluster",
          properties: {},
          inputs: { "partition-count": { value: "3", origin: "CAMUNDA_CLUSTER_PARTITIONCOUNT" }, size: { value: "1", origin: "default" } },
        },
      },
    },
  },
});
const names = (find: string, onlySet = false) => matching(entries, find, onlySet).map(({ name }) => name);

it("lists all of them by name", () => {
  expect(names("")).toEqual(["camunda.cluster.partition-count", "camunda.cluster.size", "server.port"]);
});

it("finds words in names, values and sources, in any order", () => {
  expect(names("count partition")).toEqual(["camunda.cluster.partition-count"]);
  expect(names("PartitionCount")).toEqual(["camunda.cluster.partition-count"]);
  expect(names("8080")).toEqual(["server.port"]);
  expect(names("camunda_cluster")).toEqual(["camunda.cluster.partition-count"]);
  expect(names("nothing")).toEqual([]);
});

it("leaves out what nobody has set", () => {
  expect(names("", true)).toEqual(["camunda.cluster.partition-count"]);
});
