// What the address of the studio says: a deployed model (of a process, the file of a decision, or a form), or the sample, that a draft is made of; of a draft, what is run of it.
import { only } from "../../app/search";

export type StudioSearch = { definition?: string; decision?: string; form?: string; sample?: string };
export const studioSearch = (search: Record<string, unknown>): StudioSearch => only(search, ["definition", "decision", "form", "sample"]);

/** `run` is the key of an instance, or `start` before there is one; `process` is that of several in a draft; `compare` is there while what was deployed is. */
export type DraftSearch = { run?: string; process?: string; compare?: string };
export const draftSearch = (search: Record<string, unknown>): DraftSearch => only(search, ["run", "process", "compare"]);
