// Sets a checkout up: the packages of package-lock.json and, with them, the project's own Node 24 and workerd.
// Never installs what is already there, never writes outside node_modules. Runs on any Node from 18 on.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

const windows = process.platform === "win32";
const modules = path.join(root, "node_modules");
const binaries = path.join(modules, ".bin");

/** The project's own Node, whatever Node runs this script. */
export const node = path.join(modules, "node", "bin", windows ? "node.exe" : "node");

/** The environment for the project's tools: its Node first on PATH, and no look-ups that need a network. */
export function toolEnvironment() {
  return {
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true", // the banner asks the registry for a newer version
    WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
    CLOUDFLARE_CF_FETCH_ENABLED: "false", // a fixed request.cf instead of a fetched one
    ...withPath([binaries, ...pathEntries()]),
  };
}

/** Installs what is missing; returns one line that says what is wrong, or undefined when all is ready. */
export function setUp() {
  if (Number(process.versions.node.split(".")[0]) < 18)
    return `Node 18 or newer is needed, this is ${process.version}.`;
  if (packagesMatch() && toolFault() === undefined) return undefined;
  console.log("Installing packages (npm ci) ...");
  // NODE_ENV=production or an `omit` of the user must not leave out the tools. npm itself has to run on the machine's
  // Node: the project's is among the files it replaces.
  const result = spawnSync(
    "npm",
    ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      cwd: root,
      env: withPath(pathEntries().filter((entry) => path.resolve(entry) !== binaries)),
      stdio: ["ignore", "inherit", "inherit"],
      shell: windows,
    },
  );
  if (result.error !== undefined)
    return `npm could not be started (${result.error.message}): install npm and start again.`;
  if (result.status !== 0) return "npm ci failed, see above.";
  return toolFault();
}

/** Whether the installed packages are those of the lock file, by npm's own record of what it installed. */
function packagesMatch() {
  const wanted = readPackages(path.join(root, "package-lock.json"));
  const installed = readPackages(path.join(modules, ".package-lock.json"));
  if (wanted === undefined || installed === undefined) return false;
  for (const [name, entry] of Object.entries(wanted)) {
    const found = installed[name];
    if (name === "" || (found === undefined && entry.optional === true)) continue; // another platform's binary
    if (found === undefined || found.version !== entry.version || found.integrity !== entry.integrity) return false;
  }
  return Object.keys(installed).every((name) => name in wanted);
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined; // not there, or cut off in the middle of a write: install again
  }
}

/** One line on the first tool that does not run here, or undefined. */
function toolFault() {
  const version = spawnSync(node, ["-p", "process.version"], { encoding: "utf8" });
  if (version.status !== 0) {
    return "The project's Node (package `node`) does not run: its install script was not allowed (npm's ignore-scripts) or there is no build for this system.";
  }
  if (!version.stdout.startsWith("v24."))
    return `The project's Node is ${version.stdout.trim()}, not v24: remove node_modules and start again.`;
  const workerd = spawnSync(
    node,
    ["-e", 'require("child_process").execFileSync(require("workerd").default, ["--version"])'],
    { cwd: root },
  );
  if (workerd.status !== 0)
    return "workerd does not run: its package is not installed, or there is no build for this system (on Linux it needs glibc 2.35).";
  return undefined;
}

function pathEntries() {
  return (process.env[pathName()] ?? "").split(path.delimiter).filter((entry) => entry !== "");
}

function withPath(entries) {
  return { ...process.env, [pathName()]: entries.join(path.delimiter) };
}

/** Windows keeps PATH under any case. */
function pathName() {
  return Object.keys(process.env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}
