// `npm run check`: formatting, lint, types, unused code, layers, configuration and a dry deploy. Runs all of them, whatever
// fails, and ends with the list of those that did. Never changes a source file: `npm run format` does.
import { spawnSync } from "node:child_process";
import { root, setUp, toolEnvironment } from "./setup.mjs";

const checks = ["format:check", "lint", "types", "unused", "layers", "check:config", "build:dry"];

const fault = setUp();
if (fault === undefined) {
  const failed = checks.filter((name) => !passes(name));
  console.log(failed.length === 0 ? `\nAll ${checks.length} checks passed.` : `\nFailed checks: ${failed.join(", ")}.`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} else {
  console.error(fault);
  process.exitCode = 1;
}

function passes(name) {
  console.log(`\n--- ${name}`);
  const begun = performance.now();
  const result = spawnSync("npm", ["run", "--silent", name], {
    cwd: root,
    env: toolEnvironment(),
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  const passed = result.status === 0;
  console.log(`--- ${name}: ${passed ? "passed" : "FAILED"} in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  return passed;
}
