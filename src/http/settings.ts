// The Worker's configuration: the bundled file, or the CONFIG variable instead of it. Checked once per isolate and value.
import bundled from "../../holdfast.config.json";
import type { Config } from "../../schemas/config.ts";
import { checkConfig } from "../run/settings.ts";
import { parseJson } from "../wire/json.ts";
import { found, refused, type Result } from "./problem.ts";

let checked: { source: unknown; result: Result<Config> } | undefined;

export function settingsOf(env: Env): Result<Config> {
  const source = env.CONFIG ?? bundled;
  if (checked?.source !== source) checked = { source, result: check(source) };
  return checked.result;
}

function check(source: unknown): Result<Config> {
  const parsed = typeof source === "string" ? parseJson(source) : { value: source };
  if (parsed === undefined) return refused({ code: "bug", message: "The configuration in CONFIG is not JSON." });
  const result = checkConfig(parsed.value);
  if (result.ok) return found(result.config);
  const faults = result.issues.map(({ path, message }) => `${path === "" ? "/" : path} ${message}`).join("; ");
  return refused({ code: "bug", message: `The configuration is not valid: ${faults}.` });
}
