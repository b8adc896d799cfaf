// A proxy that offers a server under a path, as operators have them: it takes the path away before it passes a request on.
import { createServer, request } from "node:http";

export interface Proxy {
  /** Its address with the path, without a slash at the end. */
  url: string;
  /** What browsers asked for outside of the path, which belongs to somebody else. */
  elsewhere: string[];
  stop: () => void;
}

/** Listens before the server at `server`; `added` are headers that each request gets. */
export async function startProxy(server: string, path: string, added: Record<string, string> = {}): Promise<Proxy> {
  const { hostname, port } = new URL(server);
  const elsewhere: string[] = [];
  const listener = createServer((incoming, outgoing) => {
    const asked = incoming.url ?? "/";
    if (!asked.startsWith(`${path}/`)) {
      elsewhere.push(asked);
      outgoing.writeHead(404).end();
      return;
    }
    const passed = request({ hostname, port, path: asked.slice(path.length), method: incoming.method, headers: { ...incoming.headers, ...added } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    // The page leaves, or the server ends, with a question on its way.
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  const own = typeof address === "object" && address ? address.port : 0;
  const stop = () => {
    listener.close();
    listener.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${own}${path}`, elsewhere, stop };
}
