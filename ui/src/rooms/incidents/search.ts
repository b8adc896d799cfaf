// What the address says: which error, in which process, at which element.
import { only } from "../../app/search";

const NAMES = ["error", "find", "process", "element", "sort", "after"] as const;
export type IncidentSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const incidentSearch = (search: Record<string, unknown>): IncidentSearch => only(search, NAMES);
