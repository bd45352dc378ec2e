// The Worker in a bare workerd with storage on disk: it starts in a tenth of a second, so that a test can kill it often.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { freePort } from "../support/free-port.ts";

const root = path.resolve(import.meta.dirname, "../..");
const READY_MS = 20_000;

export interface WorkerdServer {
  readonly origin: string;
  /** How often it was killed. */
  kills(): number;
  /** Resolves when the server takes connections; pending from the moment of a kill on. Rejects once it is stopped. */
  up(): Promise<void>;
  /** SIGKILL for workerd, with all objects in it. */
  kill(): Promise<void>;
  /** Starts again on the same port and storage. */
  start(): Promise<void>;
  /** Ends the server and deletes its storage. */
  stop(): Promise<void>;
}

/** `config` replaces holdfast.config.json. */
export async function startWorkerd(config: unknown): Promise<WorkerdServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-crash-"));
  const port = await freePort();
  mkdirSync(path.join(folder, "objects"));
  writeFileSync(path.join(folder, "workerd.capnp"), workerdConfig(port));
  writeFileSync(path.join(folder, "config.json"), JSON.stringify(config));
  await build({
    entryPoints: [path.join(root, "src/worker.ts")],
    outfile: path.join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  let child: ChildProcess | undefined;
  let kills = 0;
  let up = Promise.withResolvers<void>();
  let stopped = false;

  const start = async (): Promise<void> => {
    if (stopped) throw new Error("the server was stopped");
    const command = path.join(root, "node_modules/.bin/workerd");
    // A group of its own: where the command is a script that starts the binary, both die at once.
    const server = spawn(command, ["serve", "--experimental", "--control-fd=3", "workerd.capnp"], {
      cwd: folder,
      detached: true,
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    child = server;
    let printed = "";
    server.stderr?.on("data", (bytes: Buffer) => (printed += bytes.toString()));
    const ready = Promise.withResolvers<void>();
    server.stdio[3]?.on("data", (bytes) => {
      if (String(bytes).includes('"listen"')) ready.resolve();
    });
    server.once("error", ready.reject);
    server.once("exit", (code) => ready.reject(new Error(`workerd ended with ${code}:\n${printed}`)));
    const timer = setTimeout(() => ready.reject(new Error(`workerd is not ready:\n${printed}`)), READY_MS);
    try {
      await ready.promise;
    } finally {
      clearTimeout(timer);
    }
    up.resolve();
  };

  const end = async (): Promise<void> => {
    const server = child;
    child = undefined;
    if (server?.pid === undefined || server.exitCode !== null) return;
    const exited = new Promise((resolve) => server.once("exit", resolve));
    process.kill(-server.pid, "SIGKILL");
    await exited;
  };

  await start();
  return {
    origin: `http://localhost:${port}`,
    kills: () => kills,
    up: () => up.promise,
    async kill() {
      kills++;
      up = Promise.withResolvers();
      await end();
    },
    start,
    async stop() {
      stopped = true;
      up = Promise.withResolvers();
      up.promise.catch(() => undefined);
      up.reject(new Error("the server was stopped"));
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function workerdConfig(port: number): string {
  const date = /^compatibility_date = "(.*)"$/m.exec(readFileSync(path.join(root, "wrangler.toml"), "utf8"))?.[1];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "holdfast", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "${date}",
      bindings = [
        (name = "CONFIG", json = embed "config.json"),
        (name = "RUN", durableObjectNamespace = "RunObject"),
        (name = "TENANT", durableObjectNamespace = "TenantObject"),
      ],
      durableObjectNamespaces = [
        (className = "RunObject", uniqueKey = "run", enableSql = true),
        (className = "TenantObject", uniqueKey = "tenant", enableSql = true),
      ],
      durableObjectStorage = (localDisk = "objects"),
      globalOutbound = "loopback",
    )),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "holdfast")],
);
`;
}
