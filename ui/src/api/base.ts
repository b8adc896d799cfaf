// What the server says in the page that it fills in.

const meta = (name: string): string =>
  (typeof document === "undefined" ? null : document.querySelector(`meta[name="${name}"]`))?.getAttribute("content") ?? "";

/** What a proxy puts in front of all paths. */
export const base = meta("skep-base");

/** Where Grafana is, if a setting says it. */
export const grafana = /^https?:\/\//.test(meta("skep-grafana")) ? meta("skep-grafana") : undefined;

/** `open`: nobody logs in; `login`: who does may do everything; `grants`: what one was granted. A development server does not say it. */
export const access = meta("skep-access");
