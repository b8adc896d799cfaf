// The process of the README's first steps, to begin with.
import { once } from "../../api/live";

export const sample = once(["studio", "sample"], async () => (await import("../../../../examples/first-process.bpmn?raw")).default);
