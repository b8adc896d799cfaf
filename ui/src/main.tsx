// Where the pages begin.
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/live";
import { follow } from "./api/pulse";
import { router } from "./app/router";
import { followTabs } from "./app/session/away";
import "@fontsource-variable/inter/index.css";
import "./style/tokens.css";
import "./style/base.css";

// A server that was replaced no longer has the files of an open page: the page is loaded again, once.
const RELOADED = "skep-reloaded";
addEventListener("vite:preloadError", () => {
  const before = Number(sessionStorage.getItem(RELOADED) ?? "0");
  if (Date.now() - before < 10_000) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
});

const place = document.getElementById("root");
if (place) {
  follow();
  followTabs();
  // The page's code comes while the server is asked who looks at it.
  for (const { routeId } of router.matchRoutes(router.latestLocation)) {
    const route = router.routesById[routeId as keyof typeof router.routesById];
    // Who shows the page is told what fails.
    void router.loadRouteChunk(route)?.catch(() => undefined);
  }
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
