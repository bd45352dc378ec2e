// `npm run test:llm`: sets the checkout and the packages of this folder up, then runs the checks against a real model.
// Installs only what is missing and only into this folder; without a prebuilt binary for the machine it says so in one line.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runToEnd } from "../../scripts/run-to-end.mjs";
import { node, root, setUp, toolEnvironment } from "../../scripts/setup.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const platform = `${process.platform}-${process.arch}`;

const fault = platformFault() ?? setUp() ?? install();
if (fault === undefined) {
  process.exitCode = await runToEnd(node, [path.join(folder, "checks.ts")], { cwd: root, env: toolEnvironment() });
} else {
  console.error(fault);
  process.exitCode = 1;
}

function platformFault() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  if (platform === "linux-x64" && glibcVersionRuntime !== undefined) return undefined;
  return `npm run test:llm needs linux-x64 with glibc: for ${platform} its lock file holds no prebuilt llama.cpp.`;
}

/** The packages of this folder, without those for other platforms and without their install scripts, which build and download. */
function install() {
  const installed = Object.entries(wanted()).every(([name, version]) => versionOf(name) === version);
  if (installed) return undefined;
  console.log("Installing the packages of test/llm (npm install) ...");
  // Not `npm ci`: it insists on a lock entry for every platform's binary, and not every registry has them all.
  const args = [
    "install",
    "--no-save",
    "--omit=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const { error, status } = spawnSync("npm", args, {
    cwd: folder,
    env: toolEnvironment(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) return `npm could not be started (${error.message}).`;
  return status === 0 ? undefined : "npm install failed in test/llm, see above.";
}

function wanted() {
  return JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")).dependencies;
}

function versionOf(name) {
  try {
    return JSON.parse(readFileSync(path.join(folder, "node_modules", name, "package.json"), "utf8")).version;
  } catch {
    return undefined; // not there
  }
}
