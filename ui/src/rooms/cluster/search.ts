// What the address of the cluster says: which part of it, and what narrows the settings.
import { only } from "../../app/search";

const NAMES = ["tab", "find", "set"] as const;
export type ClusterSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const clusterSearch = (search: Record<string, unknown>): ClusterSearch => only(search, NAMES);

export const TABS = ["nodes", "exporters", "changes", "backups", "settings"] as const;
