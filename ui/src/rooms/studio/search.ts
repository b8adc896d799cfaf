// What the address of the studio says: a deployed model that a draft is made of.
import { only } from "../../app/search";

export type StudioSearch = { definition?: string };
export const studioSearch = (search: Record<string, unknown>): StudioSearch => only(search, ["definition"]);
