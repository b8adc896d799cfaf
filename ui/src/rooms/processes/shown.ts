// The value of a condition as people read it.
import { exact } from "../../text/format";
import type { Kind } from "./kinds";

export const shownOf = (kind: Kind, value: string): string => ((kind === "from" || kind === "to") && !Number.isNaN(Date.parse(value)) ? exact(value) : value);
