// Where one goes on after a login: an address within the interface, whatever somebody wrote into a link.
import { base } from "../../api/client";

const BARE = /^\/(login|logged-out)(\/|\?|#|$)/;

/** Pages without the frame, for those who are not logged in. */
export const isBare = (path: string): boolean => BARE.test(path);

export const isOurs = (next: string): boolean => /^\/(?![/\\])[\x21-\x7e\u00a0-\uffff]*$/.test(next) && !next.includes("\\") && !isBare(next);

export const pathOf = (next: string | undefined): string => `${base}/ui${next !== undefined && isOurs(next) ? next : "/"}`;
