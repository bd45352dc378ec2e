// Finds Chromium for the browser tests, and installs Debian's where that is possible. Never downloads a browser itself.
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of the first Chromium that CHROMIUM_PATH or PATH of this environment names, or undefined. */
export function findChromium(environment) {
  const { CHROMIUM_PATH: named = "", PATH = "" } = environment;
  const folders = PATH.split(path.delimiter).filter((folder) => folder !== "");
  const candidates = [named, ...names.flatMap((name) => folders.map((folder) => path.join(folder, name)))];
  return candidates.find((file) => file !== "" && isExecutable(file));
}

/** The apt-get call that works in this environment without a question (as a list of words), or undefined. */
export function aptGet(environment, isRoot = process.getuid?.() === 0) {
  if (!onPath("apt-get", environment)) return undefined;
  if (isRoot) return ["apt-get"];
  if (!onPath("sudo", environment)) return undefined;
  const asked = spawnSync("sudo", ["-n", "true"], { env: environment, stdio: "ignore" });
  return asked.status === 0 ? ["sudo", "-n", "apt-get"] : undefined;
}

/** Finds Chromium, installing it by apt where it is missing: `{ file }`, or `{ fault }` with one line for the reader. */
export function ensureChromium(environment) {
  const file = findChromium(environment);
  if (file !== undefined) return { file };
  const apt = aptGet(environment);
  if (apt !== undefined) {
    console.log("Installing Chromium for the browser tests (apt-get install chromium) ...");
    const [command, ...words] = apt;
    for (const call of [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]) {
      const env = { ...environment, DEBIAN_FRONTEND: "noninteractive" };
      spawnSync(command, [...words, "-q", ...call], { env, stdio: ["ignore", "inherit", "inherit"] });
    }
    const installed = findChromium(environment);
    if (installed !== undefined) return { file: installed };
  }
  return {
    fault:
      "The browser tests need Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM_PATH to a Chromium or Chrome binary.",
  };
}

function onPath(name, environment) {
  return (environment.PATH ?? "")
    .split(path.delimiter)
    .some((folder) => folder !== "" && isExecutable(path.join(folder, name)));
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
