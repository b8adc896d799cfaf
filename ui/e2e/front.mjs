// Pages from ui/dist (SKEP_UI names it) in front of a server: what was just built is tried without compiling the binary again.
import { readFile } from "node:fs/promises";
import { Agent, createServer, request } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

const TYPES = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml", ".json": "application/json", ".bpmn": "text/xml; charset=utf-8" };

/** What the binary answers for a file (crates/ui/src/files.rs). */
async function file(dist, name, answer) {
  const packed = await readFile(path.join(dist, `${name}.gz`)).catch(() => undefined);
  if (packed === undefined) return answer.writeHead(404).end();
  const type = TYPES[path.extname(name)] ?? "application/octet-stream";
  return answer.writeHead(200, { "content-type": type, "content-encoding": "gzip", "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" }).end(packed);
}

/** The template filled as the binary does it (crates/ui/src/page.rs); the nonce is that of the policy that the server sends with its own page. */
async function page(dist, { trusted, ...told }, within, asked, headers) {
  const template = (await promisify(gunzip)(await readFile(path.join(dist, "index.html.gz")))).toString();
  const nonce = /'nonce-(\w+)'/.exec(headers["content-security-policy"] ?? "")?.[1] ?? "";
  const theme = /(?:^|;\s*)skep-theme=(light|dark)(?:;|$)/.exec(asked.cookie ?? "")?.[1] ?? "system";
  const base = (trusted && asked["x-forwarded-prefix"]) || told.base;
  const filled = { ...told, base, nonce, theme, document: within.split("/")[0] === "studio" ? "studio" : "main" };
  return template.replaceAll('="./', `="${base}/ui/`).replaceAll(/\{\{(\w+)\}\}/g, (_, name) => filled[name]);
}

/** What the settings say to pages. */
function toldBy(settings) {
  const of = (name) => settings.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
  const method = of("camunda.security.authentication.method");
  const isOpen = method === "" || of("camunda.security.authentication.unprotected-api") === "true";
  const access = isOpen ? "open" : of("camunda.security.authorizations.enabled") === "false" ? "login" : "grants";
  return { base: of("skep.ui.base-path"), trusted: of("skep.ui.trust-forwarded-prefix") === "true", grafana: of("skep.ui.grafana-url").replaceAll("&", "&amp;"), access };
}

/** Listens before the server at `url` that has these settings; resolves with an address, and how to stop. */
export async function front(url, dist, settings) {
  const told = toldBy(settings);
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true });
  const listener = createServer((incoming, outgoing) => {
    const { pathname } = new URL(incoming.url, "http://localhost");
    if (pathname.startsWith("/ui/assets/")) return void file(dist, path.normalize(pathname.slice(4)), outgoing);
    const asked = request({ agent, hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers }, (answer) => {
      const isPage = pathname.startsWith("/ui/") && answer.headers["content-type"]?.startsWith("text/html");
      if (!isPage) return answer.pipe(outgoing.writeHead(answer.statusCode, answer.headers));
      answer.resume();
      const { "content-length": _length, "content-encoding": _packed, ...headers } = answer.headers;
      return void page(dist, told, pathname.slice(4), incoming.headers, headers).then((text) => outgoing.writeHead(200, headers).end(text));
    });
    // The page leaves, or the server is killed, with a question on its way.
    asked.on("error", () => outgoing.destroy());
    outgoing.on("close", () => asked.destroy());
    incoming.pipe(asked);
  });
  // A page keeps its connections for a while, as with the binary.
  listener.keepAliveTimeout = 60_000;
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    listener.close();
    listener.closeAllConnections();
    agent.destroy();
  };
  return { url: `http://127.0.0.1:${listener.address().port}`, stop };
}
