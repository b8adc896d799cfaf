// One variable, all of it.
import { get } from "./client";
import type { VariableKey } from "./keys";
import { live } from "./live";

export const wholeVariable = (key: VariableKey) =>
  live(["variables", "whole", key], async (how) => (await get("/variables/{variableKey}", { variableKey: key }, how)).value, 10_000);
