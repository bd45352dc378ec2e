// The whole product as a user runs it: `wrangler dev` in a process group of its own, that tests can stop, kill and start again on the same port and storage.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "./free-port.ts";

const root = path.resolve(import.meta.dirname, "../..");
const READY_MS = 60_000;

export interface HoldfastOptions {
  /** Replaces holdfast.config.json. */
  config?: unknown;
  /** Secrets and variables, by name. */
  vars?: Record<string, string>;
}

export interface Holdfast {
  readonly origin: string;
  readonly port: number;
  /** Everything the server printed so far. */
  log(): string;
  /** SIGKILL for the server and all of its processes: nothing is flushed, nobody says goodbye. */
  kill(): Promise<void>;
  /** Starts again on the same port and storage. */
  start(): Promise<void>;
  /** Ends the server and deletes its storage. */
  stop(): Promise<void>;
}

export async function startHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-test-"));
  const storage = path.join(folder, "storage");
  // What a killed server leaves there goes with the rest.
  const temporary = path.join(folder, "temporary");
  mkdirSync(temporary);
  const vars = { ...options.vars, ...(options.config !== undefined && { CONFIG: JSON.stringify(options.config) }) };
  let printed = "";
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const args = ["dev", "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0", "--persist-to", storage];
    for (const [name, value] of Object.entries(vars)) args.push("--var", `${name}:${value}`);
    const server = spawn(path.join(root, "node_modules/.bin/wrangler"), args, {
      cwd: root,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        PATH: `${path.join(root, "node_modules/.bin")}${path.delimiter}${process.env["PATH"] ?? ""}`,
        TMPDIR: temporary,
        WRANGLER_SEND_METRICS: "false",
        // Its traces of every call cost more than a short run, and no test reads them.
        X_LOCAL_OBSERVABILITY: "false",
        CI: "true",
      },
    });
    child = server;
    const ready = Promise.withResolvers<void>();
    const note = (bytes: Buffer): void => {
      printed += bytes.toString();
      if (/Ready on http/.test(printed.slice(from))) ready.resolve();
    };
    const from = printed.length;
    server.stdout.on("data", note);
    server.stderr.on("data", note);
    server.once("exit", (code) => ready.reject(new Error(`wrangler dev ended with ${code}:\n${printed.slice(from)}`)));
    const timer = setTimeout(() => ready.reject(new Error(`wrangler dev is not ready:\n${printed}`)), READY_MS);
    try {
      await ready.promise;
    } finally {
      clearTimeout(timer);
    }
  };

  const kill = async (): Promise<void> => {
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
    port,
    log: () => printed,
    kill,
    start,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
