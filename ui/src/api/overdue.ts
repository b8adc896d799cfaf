// Elements at which tokens have been waiting longer than usual.
import { type Answer, get } from "./client";
import { live } from "./live";

export type OverdueElement = Answer<"/skep/v1/element-instances/overdue", "get">["items"][number];

/** It changes as time goes by, which the pulse does not speak of. */
export const overdue = () => live(["overdue"], (how) => get("/skep/v1/element-instances/overdue", {}, how), 15_000);
