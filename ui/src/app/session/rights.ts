// Which rooms one never may enter: the server names the components to which a person has access.
import { type Session, meOf, sessionNow, useSession } from "../../api/session";
import { rooms } from "../nav";

export type Room = (typeof rooms)[number];
export type Component = "operate" | "tasklist" | "admin";

/** Older grants name the admin's part otherwise. */
const NAMES: Record<Component, readonly string[]> = { operate: ["operate"], tasklist: ["tasklist"], admin: ["admin", "identity"] };

export function mayEnter(session: Session, component: Component | undefined): boolean {
  const may = meOf(session)?.authorizedComponents;
  if (component === undefined || may === undefined) return true;
  return may.includes("*") || NAMES[component].some((name) => may.includes(name));
}

/** Whether rooms of a component are open to who looks at the page: what leads there, or comes from there, is absent where not. */
export const useMayEnter = (component: Component): boolean => mayEnter(useSession(), component);

const allowed = (session: Session): readonly Room[] => rooms.filter((room) => mayEnter(session, "needs" in room ? room.needs : undefined));

export const roomsNow = (): readonly Room[] => allowed(sessionNow());
export const useRooms = (): readonly Room[] => allowed(useSession());

/** The room of an address, where it is not open to one. */
export function closedRoom(session: Session, path: string): Room | undefined {
  const room = rooms.find(({ to }) => to !== "/" && (path === to || path.startsWith(`${to}/`)));
  return room && !allowed(session).includes(room) ? room : undefined;
}
