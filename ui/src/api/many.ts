// Commands for many instances: each begins a batch operation for all that a filter finds.
import { type Answer, post } from "./client";
import { done } from "./live";
import type { Filter } from "./instances";
import type { Pair } from "./change";

export type Begun = Answer<"/process-instances/cancellation", "post">;

export const cancelMany = (filter: Filter): Promise<Begun> => done(post("/process-instances/cancellation", {}, { filter }));
export const retryMany = (filter: Filter): Promise<Begun> => done(post("/process-instances/incident-resolution", {}, { filter }));
export const deleteMany = (filter: Filter): Promise<Begun> => done(post("/process-instances/deletion", {}, { filter }));

export const migrateMany = (filter: Filter, target: string, mappingInstructions: Pair[]): Promise<Begun> =>
  done(post("/process-instances/migration", {}, { filter, migrationPlan: { targetProcessDefinitionKey: target, mappingInstructions } }));

/** All tokens of elements go to others. */
export const moveMany = (filter: Filter, moveInstructions: Pair[]): Promise<Begun> => done(post("/process-instances/modification", {}, { filter, moveInstructions }));
