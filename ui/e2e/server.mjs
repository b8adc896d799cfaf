// A Skep of one's own: the binary SKEP_BIN with a data directory that goes away, on ports that are free.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { front } from "./front.mjs";

const START = 60_000;

/** Starts the binary in a directory; resolves once it says where it is. */
async function begin(data, settings) {
  const binary = process.env.SKEP_BIN;
  if (!binary) throw new Error("SKEP_BIN names no binary: build one with `cargo build -p skep` after `make ui`");
  const ports = ["--rest-port", "0", "--grpc-port", "0", "--management-port", "0"];
  const child = spawn(binary, ["serve", "--data", path.join(data, "data"), "--partitions", "2", "--log-level", "warn", ...ports, ...settings.flatMap((each) => ["--set", each])], {
    cwd: data,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the server did not start within ${START} ms:\n${said}`)), START);
    const hear = (bytes) => {
      said = `${said}${bytes}`.slice(-20_000);
      const found = /REST +(http:\/\/\S+)\/v2/.exec(said);
      if (!found) return;
      clearTimeout(late);
      resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
  const before = process.env.SKEP_UI ? await front(url, path.resolve(process.env.SKEP_UI), settings) : undefined;
  const kill = async () => {
    before?.stop();
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await ended;
  };
  return { url: before?.url ?? url, kill, pid: child.pid };
}

/** Starts a server; `settings` are NAME=VALUE. Resolves with its address, and how to stop it. */
export async function startServer(settings = []) {
  const data = await mkdtemp(path.join(tmpdir(), "skep-ui-"));
  const { url, kill, pid } = await begin(data, settings);
  const stop = async () => {
    await kill();
    await rm(data, { recursive: true, force: true });
  };
  return { url, pid, stop };
}

/** Ports that were free a moment ago, below those that the kernel gives to outgoing connections. */
async function freePorts(count) {
  const [first, end] = [10_000, 32_768];
  const held = [];
  while (held.length < count) {
    const port = first + Math.floor(Math.random() * (end - first));
    const server = createServer();
    const listens = await new Promise((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (listens) held.push(server);
  }
  const ports = held.map((server) => server.address().port);
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Three nodes of one cluster, each with a copy of both partitions. */
export async function startCluster() {
  const ports = await freePorts(3);
  const root = await mkdtemp(path.join(tmpdir(), "skep-ui-three-"));
  const points = ports.map((port) => `127.0.0.1:${port}`).join(",");
  const nodes = await Promise.all(ports.map(async (port, id) => {
    const data = path.join(root, String(id));
    await mkdir(data);
    return begin(data, [
      `camunda.cluster.node-id=${id}`,
      "camunda.cluster.size=3",
      "camunda.cluster.replication-factor=3",
      `camunda.cluster.initial-contact-points=${points}`,
      `camunda.cluster.network.internal-api.port=${port}`,
    ]);
  }));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(root, { recursive: true, force: true });
  };
  return { nodes, stop };
}
