// What the address of the monitor says: how far it looks back.
import { only } from "../../app/search";

export type MonitorSearch = { span?: string };

export const monitorSearch = (search: Record<string, unknown>): MonitorSearch => only(search, ["span"]);
