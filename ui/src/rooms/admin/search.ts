// What the address of Admin says beside the section: what is looked for, by what lists are narrowed, and their order.
import { only } from "../../app/search";

const NAMES = ["find", "sort", "after", "type", "id", "resource", "category", "result", "actor", "entity", "span", "new"] as const;
export type AdminSearch = Partial<Record<(typeof NAMES)[number], string>>;

export const adminSearch = (search: Record<string, unknown>): AdminSearch => only(search, NAMES);
