// What the mappings of an instance say: it comes with the page of instances, not with the first load.
import { mappings as en } from "./en/mappings";

export type MappingsText = typeof en;
export const mappings: MappingsText = en;
