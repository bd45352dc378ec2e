// The whole Worker in a bare workerd, bundled once for all files: it starts in a tenth of a second where `wrangler dev` takes seconds.
// It has nothing between the socket and the Worker.
import { spawn, type ChildProcess } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject } from "vitest";
import { root, workerdConfig } from "./bare-workerd.ts";
import { freePort } from "./free-port.ts";
import type { Holdfast, HoldfastOptions } from "./holdfast-server.ts";

const READY_MS = 30_000;

export interface Bare extends Holdfast {
  /** The process stands still for so many milliseconds, as on a machine that sleeps; its sockets stay. */
  freeze(ms: number): Promise<void>;
}

export async function startBare(options: HoldfastOptions = {}): Promise<Bare> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-bare-"));
  const vars = { ...options.vars, ...(options.config !== undefined && { CONFIG: JSON.stringify(options.config) }) };
  mkdirSync(path.join(folder, "objects"));
  linkSync(inject("workerBundle"), path.join(folder, "worker.js"));
  writeFileSync(path.join(folder, "workerd.capnp"), workerdConfig(port, vars));
  let printed = "";
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const server = spawn(
      path.join(root, "node_modules/.bin/workerd"),
      ["serve", "--experimental", "--control-fd=3", "workerd.capnp"],
      // A group of its own: where the command is a script that starts the binary, both die at once.
      { cwd: folder, detached: true, stdio: ["ignore", "pipe", "pipe", "pipe"] },
    );
    child = server;
    const note = (bytes: Buffer): void => {
      printed += bytes.toString();
    };
    server.stdout?.on("data", note);
    server.stderr?.on("data", note);
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
    async freeze(ms) {
      const pid = child?.pid;
      if (pid === undefined) throw new Error("nothing runs that could stand still");
      process.kill(-pid, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, ms));
      process.kill(-pid, "SIGCONT");
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
