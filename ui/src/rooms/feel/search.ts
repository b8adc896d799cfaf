// What the address of the playground says: the expression, the variables (JSON text), or whose variables it sees.
import { only } from "../../app/search";

const NAMES = ["expression", "with", "instance", "scope"] as const;
export type FeelSearch = Partial<Record<(typeof NAMES)[number], string>>;
export const feelSearch = (search: Record<string, unknown>): FeelSearch => only(search, NAMES);
