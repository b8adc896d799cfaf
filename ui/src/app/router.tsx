// Which address shows which screen. A screen is fetched when somebody goes there, or is about to.
import { Outlet, createRootRoute, createRoute, createRouter, lazyRouteComponent, retainSearchParams, useLocation } from "@tanstack/react-router";
import { base } from "../api/client";
import { queries } from "../api/live";
import { chooseTenant } from "../api/tenant";
import { forgetNotices } from "../parts/announce";
import { adminSearch } from "../rooms/admin/search";
import { batchSearch, batchesSearch } from "../rooms/batches/search";
import { clusterSearch } from "../rooms/cluster/search";
import { decisionSearch } from "../rooms/decisions/search";
import { feelSearch } from "../rooms/feel/search";
import { incidentSearch } from "../rooms/incidents/search";
import { instanceSearch } from "../rooms/instance/search";
import { jobSearch } from "../rooms/jobs/search";
import { messageSearch } from "../rooms/messages/search";
import { monitorSearch } from "../rooms/monitor/search";
import { processSearch } from "../rooms/processes/search";
import { taskSearch } from "../rooms/tasks/search";
import { draftSearch, studioSearch } from "../rooms/studio/search";
import { rightDocument } from "./document";
import { Broken, Lost } from "./Lost";
import { Frame } from "./Frame";
import { only, parseSearch, stringifySearch } from "./search";
import { guard } from "./session/guard";
import { isBare } from "./session/next";

const root = createRootRoute({
  // Whose data is looked at stays the same from page to page.
  validateSearch: (search: Record<string, unknown>): { tenant?: string } => only(search, ["tenant"]),
  search: { middlewares: [retainSearchParams(["tenant"])] },
  beforeLoad: async (going) => {
    await rightDocument(going);
    await guard(going);
    if (!going.preload) chooseTenant(going.search.tenant);
  },
  component: Root,
  notFoundComponent: Lost,
  errorComponent: Broken,
});

/** Who is not logged in sees nothing of the rooms. */
function Root() {
  const path = useLocation({ select: (at) => at.pathname });
  return isBare(path) ? <Outlet /> : <Frame />;
}

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search: Record<string, unknown>) => only(search, ["next", "failed"]),
  component: lazyRouteComponent(() => import("./session/Login"), "Login"),
});
const loggedOut = createRoute({
  getParentRoute: () => root,
  path: "/logged-out",
  component: lazyRouteComponent(() => import("./session/LoggedOut"), "LoggedOut"),
});

const studio = createRoute({
  getParentRoute: () => root,
  path: "/studio",
  validateSearch: studioSearch,
  component: lazyRouteComponent(() => import("../rooms/studio/page"), "Studio"),
});
const studioDraft = createRoute({
  getParentRoute: () => root,
  path: "/studio/$draft",
  validateSearch: draftSearch,
  component: lazyRouteComponent(() => import("../rooms/studio/draft"), "Draft"),
});
const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("../rooms/home/page"), "Home"),
});
const processes = createRoute({
  getParentRoute: () => root,
  path: "/processes",
  validateSearch: processSearch,
  // Not awaited, so that nothing waits for its answers but what shows them.
  loader: ({ cause, location }) => {
    if (cause === "enter") void import("../rooms/processes/first").then(({ askFirst }) => askFirst(processSearch(location.search))).catch(() => undefined);
  },
  component: lazyRouteComponent(() => import("../rooms/processes/page"), "Processes"),
});
const instance = createRoute({
  getParentRoute: () => root,
  path: "/processes/i/$key",
  validateSearch: instanceSearch,
  component: lazyRouteComponent(() => import("../rooms/instance/page"), "Instance"),
});
const incidents = createRoute({
  getParentRoute: () => root,
  path: "/incidents",
  validateSearch: incidentSearch,
  component: lazyRouteComponent(() => import("../rooms/incidents/page"), "Incidents"),
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => import("../rooms/jobs/page"), "Jobs"),
});
const jobsOfType = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$type",
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => import("../rooms/jobs/page"), "Jobs"),
});
const batches = createRoute({
  getParentRoute: () => root,
  path: "/batches",
  validateSearch: batchesSearch,
  component: lazyRouteComponent(() => import("../rooms/batches/page"), "Batches"),
});
const batch = createRoute({
  getParentRoute: () => root,
  path: "/batches/$key",
  validateSearch: batchSearch,
  component: lazyRouteComponent(() => import("../rooms/batches/one"), "Batch"),
});
const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  validateSearch: taskSearch,
  component: lazyRouteComponent(() => import("../rooms/tasks/page"), "Tasks"),
});
const decisions = createRoute({
  getParentRoute: () => root,
  path: "/decisions",
  validateSearch: decisionSearch,
  component: lazyRouteComponent(() => import("../rooms/decisions/page"), "Decisions"),
});
const evaluation = createRoute({
  getParentRoute: () => root,
  path: "/decisions/i/$id",
  component: lazyRouteComponent(() => import("../rooms/decisions/one"), "Evaluation"),
});
const messages = createRoute({
  getParentRoute: () => root,
  path: "/messages",
  validateSearch: messageSearch,
  component: lazyRouteComponent(() => import("../rooms/messages/page"), "Messages"),
});
const monitor = createRoute({
  getParentRoute: () => root,
  path: "/monitor",
  validateSearch: monitorSearch,
  component: lazyRouteComponent(() => import("../rooms/monitor/page"), "Monitor"),
});
const cluster = createRoute({
  getParentRoute: () => root,
  path: "/cluster",
  validateSearch: clusterSearch,
  component: lazyRouteComponent(() => import("../rooms/cluster/page"), "Cluster"),
});
const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: adminSearch,
  component: lazyRouteComponent(() => import("../rooms/admin/page"), "Admin"),
});
const adminSection = createRoute({
  getParentRoute: () => root,
  path: "/admin/$section",
  validateSearch: adminSearch,
  component: lazyRouteComponent(() => import("../rooms/admin/page"), "Admin"),
});
const adminOne = createRoute({
  getParentRoute: () => root,
  path: "/admin/$section/$id",
  validateSearch: adminSearch,
  component: lazyRouteComponent(() => import("../rooms/admin/page"), "Admin"),
});
const feel = createRoute({
  getParentRoute: () => root,
  path: "/feel",
  validateSearch: feelSearch,
  component: lazyRouteComponent(() => import("../rooms/feel/page"), "Playground"),
});
const help = createRoute({
  getParentRoute: () => root,
  path: "/help",
  component: lazyRouteComponent(() => import("./Help"), "Help"),
});
const errors = createRoute({
  getParentRoute: () => root,
  path: "/help/errors",
  component: lazyRouteComponent(() => import("./errors/Page"), "ErrorPage"),
});
const errorCode = createRoute({
  getParentRoute: () => root,
  path: "/help/errors/$code",
  component: lazyRouteComponent(() => import("./errors/Page"), "ErrorPage"),
});

/** For those who change the pages; nothing leads there. */
const parts = createRoute({
  getParentRoute: () => root,
  path: "/parts",
  component: lazyRouteComponent(() => import("../rooms/gallery/page"), "Gallery"),
});

export const router = createRouter({
  routeTree: root.addChildren([login, loggedOut, home, processes, instance, incidents, jobs, jobsOfType, batches, batch, tasks, decisions, evaluation, messages, monitor, cluster, admin, adminSection, adminOne, feel, help, errors, errorCode, parts, studio, studioDraft]),
  basepath: `${base}/ui`,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
});

/** After a logout, here or in another tab: nothing of what was seen is kept in the page. */
export async function goAway(): Promise<void> {
  queries.clear();
  forgetNotices();
  await router.navigate({ to: "/logged-out", replace: true });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
