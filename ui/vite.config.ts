// How the pages are built (into .build, from which tools/pack.mjs fills dist), and served while one works on them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** A development server fills the page's template as the server does (crates/ui/src/page.rs). */
const template = {
  name: "skep-template",
  apply: "serve" as const,
  transformIndexHtml: (html: string) => html.replaceAll("{{theme}}", "system").replaceAll(/\{\{\w+\}\}/g, ""),
};

/** What the boards of the studio are made of is a copy of its own: what other screens share with it would carry what only the board needs. */
const apart = {
  name: "skep-apart",
  apply: "build" as const,
  enforce: "pre" as const,
  async resolveId(this: { resolve: (source: string, importer: string, options: object) => Promise<{ id: string } | null> }, source: string, importer: string | undefined) {
    if (importer === undefined || !(importer.endsWith("?studio") || /\/rooms\/studio\/(modeler|dmn|form)\.ts$/.test(importer))) return null;
    const plain = importer.replace(/\?studio$/, "");
    // The editor of forms wants an older preact, and the viewer within it has to use the same: hooks of one do not work in another.
    const asks = source.startsWith("preact") ? plain.replace(/form-js-viewer\/.*$/, "form-js-editor/dist/index.es.js") : plain;
    const found = await this.resolve(source, asks, { skipSelf: true });
    return found && /node_modules.*\.m?js$/.test(found.id) ? { ...found, id: `${found.id}?studio` } : found;
  },
};

/** The texts of all licences of what reaches browsers; the name changes with the packages, as names of files do that are kept for good. */
const lock = createHash("sha256").update(readFileSync(new URL("package-lock.json", import.meta.url))).digest("hex").slice(0, 8);
const notices = `assets/licences-${lock}.json`;

const server = process.env.SKEP_URL ?? "http://127.0.0.1:8080";

/** Everything that pages ask of a server: the API, what is of Skep alone, and the ways in and out. */
const OF_SERVER = ["/v2", "/skep", "/login", "/logout", "/oauth2", "/sso-callback"];

/** The server sees the host that the browser sees: so redirects lead back here, and cookies and tokens hold. */
const proxy = Object.fromEntries(OF_SERVER.map((path) => [path, { target: server, changeOrigin: false }]));

export default defineConfig(({ command }) => ({
  // Built pages may stand behind any prefix.
  base: command === "serve" ? "/ui/" : "./",
  define: { __NOTICES__: JSON.stringify(notices) },
  plugins: [react(), template, apart],
  build: {
    outDir: ".build",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox120", "safari17.5"],
    manifest: true,
    license: { fileName: notices },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
  // The sample lies beside.
  server: { proxy, fs: { allow: [".."] } },
  // No test leaves anything behind that another one would see.
  test: { isolate: false, include: ["src/**/*.test.ts", "src/**/*.test.tsx", "tools/**/*.test.ts"] },
}));
