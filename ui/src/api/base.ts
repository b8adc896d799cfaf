// Where the server is, as the page that it filled in says.

const meta = (name: string): string =>
  (typeof document === "undefined" ? null : document.querySelector(`meta[name="${name}"]`))?.getAttribute("content") ?? "";

/** What a proxy puts in front of all paths. */
export const base = meta("skep-base");
