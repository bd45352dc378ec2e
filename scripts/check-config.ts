// Checks the configuration the way the Worker does, before a deploy: holdfast.config.json, or the file named as the argument.
import { readFileSync } from "node:fs";
import { checkConfig } from "../src/run/settings.ts";
import { parseJson } from "../src/wire/json.ts";

const file = process.argv[2] ?? "holdfast.config.json";
const parsed = parseJson(readFileSync(file, "utf8"));
const result = parsed === undefined ? undefined : checkConfig(parsed.value);

if (result?.ok === true) {
  const { targets, routes } = result.config;
  console.log(`${file}: ${targets.length} targets, ${Object.keys(routes).length} routes, valid.`);
} else {
  const faults = result === undefined ? [{ path: "", message: "is not JSON" }] : result.issues;
  for (const { path, message } of faults) console.error(`${file}: ${path === "" ? "/" : path} ${message}`);
  process.exitCode = 1;
}
