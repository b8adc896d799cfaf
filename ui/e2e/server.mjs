// A Skep of one's own: the binary SKEP_BIN with a data directory that goes away, on ports that are free.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const START = 60_000;

/** Starts a server; `settings` are NAME=VALUE. Resolves with its address, and how to stop it. */
export async function startServer(settings = []) {
  const binary = process.env.SKEP_BIN;
  if (!binary) throw new Error("SKEP_BIN names no binary: build one with `cargo build -p skep` after `make ui`");
  const data = await mkdtemp(path.join(tmpdir(), "skep-ui-"));
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
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  return { url, stop };
}
