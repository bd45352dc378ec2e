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
  const [major] = process.versions.node.split(".");
  if (Number(major) < 18) return `Node 18 or newer is needed, this is ${process.version}.`;

  let state = packages();
  let fault = toolFault();
  if (state === "different" || fault !== undefined) {
    console.log("Installing packages (npm ci) ...");
    // npm runs on the machine's Node here: the project's is among the files that it replaces.
    const outside = pathEntries().filter((entry) => path.resolve(entry) !== binaries);
    fault = npm(["ci"], outside) ?? toolFault();
    if (fault !== undefined) return fault;
    state = packages();
  }
  // On an old Node npm leaves out, without a word, the platform binaries of tools that want a newer one (rolldown's,
  // oxlint's). The project's Node is new enough, so npm on that adds them.
  return state === "partial" ? npm(["install", "--no-save"], [binaries, ...pathEntries()]) : undefined;
}

/** Runs npm with this PATH. NODE_ENV=production or an `omit` of the user must not leave the tools out. */
function npm(words, entries) {
  const args = [...words, "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: root, env: withPath(entries), stdio: ["ignore", "inherit", "inherit"], shell: windows };
  const { error, status } = spawnSync("npm", args, options);
  if (error !== undefined) return `npm could not be started (${error.message}): install npm and start again.`;
  return status === 0 ? undefined : `npm ${words.join(" ")} failed, see above.`;
}

/** How the installed packages stand to the lock file, by npm's own record of what it installed. */
function packages() {
  const wanted = readPackages(path.join(root, "package-lock.json"));
  const installed = readPackages(path.join(modules, ".package-lock.json"));
  if (wanted === undefined || installed === undefined) return "different";
  if (Object.keys(installed).some((name) => !(name in wanted))) return "different";
  let state = "complete";
  for (const [name, entry] of Object.entries(wanted)) {
    const found = installed[name];
    if (found === undefined && name !== "" && entry.optional !== true) return "different";
    if (found === undefined && isForThisPlatform(entry)) state = "partial";
    if (found !== undefined && (found.version !== entry.version || found.integrity !== entry.integrity))
      return "different";
  }
  return state;
}

/** Whether this is a binary built for this system (workerd has none for musl); false for packages that name no system. */
function isForThisPlatform({ os = [], cpu = [], libc = ["glibc"] }) {
  return os.includes(process.platform) && cpu.includes(process.arch) && libc.includes("glibc");
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
    return "workerd does not run: its package is not installed, or there is no build for this system.";
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
