// One Worker under `wrangler dev`, the product or the reference, always started the same way: from a copy of its sources in a
// temporary folder, so that nothing is written into the tree and an edit there does not restart what is being measured.
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../../test/support/free-port.ts";

const root = path.resolve(import.meta.dirname, "../..");
const wrangler = path.join(root, "node_modules", "wrangler", "bin", "wrangler.js");
const READY_MS = 60_000;
const COMPLAINTS_LENGTH = 2000;
/** Top-level folders that no Worker is built from. Names with a leading dot stay out too: they hold a developer's own secrets. */
const LEFT_OUT = new Set(["bench", "coverage", "dist", "docs", "node_modules", "test"]);

/**
 * `wrangler dev` writes every call and log line of a Worker into an object of its own, which no deployment has and which takes
 * more time than a short run. Product and reference both go without it, unless the environment asks for it.
 */
export const TRACING = process.env["X_LOCAL_OBSERVABILITY"] ?? "false";

export interface ServerOptions {
  /** The folder with its wrangler.toml. */
  source: string;
  /** The tree whose node_modules the Worker is built with. */
  packages: string;
  vars?: Record<string, string>;
  /** A folder with another Worker, which is built from the parts of this source and started instead of its own. */
  worker?: string;
}

export interface Server {
  readonly port: number;
  readonly inspectorPort: number;
  /** Process id of the workerd that runs the Worker and its objects; wrangler's own proxy is another one. Linux only. */
  workerd(): number;
  /** The last it printed as errors since it was ready. */
  complaints(): string;
  /** Ends all of its processes and deletes its storage. */
  stop(): Promise<void>;
}

/** What is running: for an end that leaves no time to wait. */
const running = new Map<ChildProcess, string>();

export async function startServer({ source, packages, vars = {}, worker }: ServerOptions): Promise<Server> {
  const port = await freePort();
  const inspectorPort = await freePort();
  const scratch = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
  const folder = path.join(scratch, "tree");
  try {
    cpSync(source, folder, { recursive: true, filter: (entry) => isBuiltFrom(path.relative(source, entry)) });
    if (worker !== undefined) cpSync(worker, path.join(folder, "bench", path.basename(worker)), { recursive: true });
    symlinkSync(realpathSync(path.join(packages, "node_modules")), path.join(folder, "node_modules"));
    for (const name of ["config", "temporary"]) mkdirSync(path.join(scratch, name));
  } catch (fault) {
    rmSync(scratch, { recursive: true, force: true });
    throw fault;
  }

  const args = ["dev", "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", String(inspectorPort)];
  args.push("--persist-to", path.join(scratch, "storage"));
  if (worker !== undefined) args.push("--config", path.join("bench", path.basename(worker), "wrangler.toml"));
  for (const [name, value] of Object.entries(vars)) args.push("--var", `${name}:${value}`);
  const server = spawn(process.execPath, [wrangler, ...args], {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
      TMPDIR: path.join(scratch, "temporary"),
      XDG_CONFIG_HOME: path.join(scratch, "config"),
      WRANGLER_LOG_PATH: path.join(scratch, "config"),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_HIDE_BANNER: "true",
      X_LOCAL_OBSERVABILITY: TRACING,
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      CI: "true",
    },
  });
  running.set(server, scratch);
  const exited = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    endNow(server, scratch);
    await exited;
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  };

  try {
    await readiness(server);
  } catch (fault) {
    await stop();
    throw fault;
  }
  let complaints = "";
  server.stderr.on("data", (bytes: Buffer) => {
    complaints = (complaints + bytes.toString()).slice(-COMPLAINTS_LENGTH);
  });
  return { port, inspectorPort, workerd: () => workerdOf(server.pid, port), complaints: () => complaints, stop };
}

/** Ends everything that still runs, without waiting; for the process's own end. */
export function endServersNow(): void {
  for (const [server, scratch] of running) endNow(server, scratch);
}

function endNow(server: ChildProcess, scratch: string): void {
  if (!running.delete(server)) return;
  try {
    if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  } catch {
    // It has ended already, or a dying process still writes: the waiting end deletes what is left.
  }
}

/** Resolves when the server prints that it is ready. Reads on afterwards: a full pipe would stop it. */
async function readiness(server: ChildProcess): Promise<void> {
  const ready = Promise.withResolvers<void>();
  let printed: string | undefined = "";
  const note = (bytes: Buffer): void => {
    if (printed === undefined) return;
    printed += bytes.toString();
    if (printed.includes("Ready on http")) ready.resolve();
  };
  server.stdout?.on("data", note);
  server.stderr?.on("data", note);
  server.once("exit", (code) => ready.reject(new Error(`wrangler dev ended with ${code}:\n${printed}`)));
  const timer = setTimeout(() => ready.reject(new Error(`wrangler dev is not ready:\n${printed}`)), READY_MS);
  try {
    await ready.promise;
  } finally {
    clearTimeout(timer);
    printed = undefined;
  }
}

function isBuiltFrom(relative: string): boolean {
  const [top = ""] = relative.split(path.sep);
  return !LEFT_OUT.has(top) && !top.startsWith(".");
}

function workerdOf(group: number | undefined, port: number): number {
  const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isWorkerd(name, group, port));
  const [pid] = found;
  if (pid === undefined || found.length > 1) throw new Error(`${found.length} workerd processes serve objects`);
  return Number(pid);
}

function isWorkerd(pid: string, group: number | undefined, port: number): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    // After the command's closing parenthesis: state, parent, process group.
    const [, , processGroup] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(processGroup) === group && command.includes("/workerd\0") && !command.includes(`:${port}\0`);
  } catch {
    return false;
  }
}
