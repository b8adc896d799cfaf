// Two documents show one application: the studio's policy allows what its modeller needs, and nothing but the studio is shown in it.
// From one to the other leads a load of the page.

const kind = typeof document === "undefined" ? "" : (document.querySelector('meta[name="skep-document"]')?.getAttribute("content") ?? "");

/** Which document shows an address within the application. */
const documentOf = (path: string): "studio" | "main" => (/^\/studio(\/|$)/.test(path) ? "studio" : "main");

interface Going {
  location: { pathname: string; publicHref: string };
  preload: boolean;
}

/** Waits for ever where another document is being loaded. A development server has one document for all. */
export async function rightDocument({ location, preload }: Going): Promise<void> {
  if (preload || kind === "" || documentOf(location.pathname) === kind) return;
  window.location.assign(location.publicHref);
  await new Promise(() => undefined);
}
