// How the pages look, kept in a cookie so that the server can say it in the page and nothing flashes.
import { base } from "../api/client";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themeNow = (): Theme => themes.find((theme) => theme === document.documentElement.dataset.theme) ?? "system";

export function setTheme(theme: Theme) {
  document.documentElement.dataset.theme = theme;
  const age = theme === "system" ? 0 : 31_536_000;
  document.cookie = `skep-theme=${theme}; path=${base}/ui; max-age=${age}; samesite=lax`;
}
