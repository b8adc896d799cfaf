// Before a page is shown it is known who looks at it. Whoever has to log in does that first.
import { redirect } from "@tanstack/react-router";
import { knowSession, sessionNow } from "../../api/session";
import { isBare } from "./next";

export async function guard({ location, preload }: { location: { pathname: string; href: string }; preload: boolean }): Promise<void> {
  await knowSession();
  if (preload || isBare(location.pathname) || sessionNow().kind !== "out") return;
  throw redirect({ to: "/login", search: { next: location.href === "/" ? undefined : location.href }, replace: true });
}
