// The parts of Admin, and which of them this server has.
import type { Kind } from "../../api/identity";
import type { Session } from "../../api/session";

export const IDENTITY = ["users", "groups", "roles", "tenants", "mapping-rules", "authorizations", "access"] as const;
export const CLUSTER = ["variables", "listeners", "usage", "audit"] as const;
export type Section = (typeof IDENTITY)[number] | (typeof CLUSTER)[number];

/** A server without login knows neither users nor rights. */
export const hasIdentity = (session: Session): boolean => !(session.kind === "open" && session.why === "absent");

export const sectionOf = (name: string | undefined): Section | undefined => [...IDENTITY, ...CLUSTER].find((each) => each === name);

export const isKind = (section: Section): section is Kind => section !== "authorizations" && section !== "access" && (IDENTITY as readonly string[]).includes(section);
export const isIdentity = (section: Section): boolean => (IDENTITY as readonly string[]).includes(section);
