// By what instances are filtered beside process, version and state.
export const KINDS = ["var", "element", "error", "business", "key", "parent", "batch", "from", "to"] as const;
export type Kind = (typeof KINDS)[number];
