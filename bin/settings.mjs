// Where the server is and what it is asked with: from the flags, else the file that one names, else the environment.
import { readFile } from "node:fs/promises";
import { configInvalid, failed, fieldsOf, invalidInput } from "./failure.mjs";

/**
 * @typedef {{ server: import("./connection.mjs").Server, collection: string | undefined }} Settings
 * @typedef {{ server?: string, collection?: string, keyVar?: string }} FileSettings
 */

const DEFAULT_SERVER = "http://localhost:8787";
const FILE_FIELDS = ["server", "collection", "keyVar"];

/**
 * @param {import("./command-line.mjs").ServerCommand} command
 * @param {Record<string, string | undefined>} environment
 * @returns {Promise<{ ok: true, value: Settings } | import("./failure.mjs").Failed>}
 */
export async function readSettings({ server, key, config, collection, timeoutMs }, environment) {
  const file =
    config === undefined
      ? { ok: /** @type {const} */ (true), value: /** @type {FileSettings} */ ({}) }
      : await readConfig(config);
  if (!file.ok) return file;
  const { keyVar } = file.value;
  if (keyVar !== undefined && key === undefined && environment[keyVar] === undefined) {
    return failed(configInvalid(config ?? "", `there is no variable ${keyVar}`));
  }
  const origin = originOf(server ?? file.value.server ?? (environment["HOLDFAST_URL"] || DEFAULT_SERVER));
  if (origin === undefined) {
    return failed(
      invalidInput("server", "The server must be an http or https address, without a user, a query and a fragment."),
    );
  }
  const secret = key ?? environment[keyVar ?? "HOLDFAST_KEY"] ?? "";
  if (!/^[\x21-\x7e]*$/.test(secret)) return failed(invalidInput("key", "The key must be visible ASCII characters."));
  return {
    ok: true,
    value: {
      server: { origin, key: secret === "" ? undefined : secret, timeoutMs },
      collection: collection ?? file.value.collection,
    },
  };
}

/**
 * @param {string} path
 * @returns {Promise<{ ok: true, value: FileSettings } | import("./failure.mjs").Failed>}
 */
async function readConfig(path) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (fault) {
    const code = fieldsOf(fault)["code"];
    return failed(configInvalid(path, typeof code === "string" ? code : "it is no JSON"));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return failed(configInvalid(path, "it is no object"));
  const fields = fieldsOf(value);
  for (const [name, field] of Object.entries(fields)) {
    if (!FILE_FIELDS.includes(name))
      return failed(configInvalid(path, `it may have ${FILE_FIELDS.join(", ")}, and not ${name}`));
    if (typeof field !== "string") return failed(configInvalid(path, `${name} must be text`));
  }
  return { ok: true, value: fields };
}

/**
 * Without the slash at its end. A path is kept: a server may stand below one.
 * @param {string} address
 */
function originOf(address) {
  try {
    const { protocol, username, password, search, hash, origin, pathname } = new URL(address);
    const isPlain = username === "" && password === "" && search === "" && hash === "";
    if ((protocol !== "http:" && protocol !== "https:") || !isPlain) return undefined;
    return origin + pathname.replace(/\/+$/, "");
  } catch {
    return undefined;
  }
}
