// From the address to filters: of the incidents that are listed, and of the instances that commands on all of them act on.
import type { ErrorGroup, IncidentFilter } from "../../api/incidents";
import type { Filter } from "../../api/instances";
import { type DefinitionKey, asKey } from "../../api/keys";
import type { IncidentSearch } from "./search";

const definitionIn = ({ process }: IncidentSearch) => (process === undefined ? {} : { processDefinitionKey: asKey<DefinitionKey>(process) });

/** A place is one of an error; without one, all is listed. */
export function listFilter(error: ErrorGroup | undefined, search: IncidentSearch): IncidentFilter {
  if (error === undefined) return {};
  return { errorMessage: error.errorMessage, ...definitionIn(search), ...(search.element === undefined ? {} : { elementId: search.element }) };
}

/** Incidents are retried by their instances: those that have the error, and an incident at the element where one was chosen. */
export function bulkFilter(error: ErrorGroup | undefined, search: IncidentSearch): Filter {
  const stuck = { state: "ACTIVE", hasIncident: true } as const;
  if (error === undefined) return stuck;
  const at = search.element === undefined ? {} : ({ elementId: search.element, elementInstanceState: "ACTIVE", hasElementInstanceIncident: true } as const);
  return { ...stuck, incidentErrorHashCode: error.errorHashCode, ...definitionIn(search), ...at };
}
