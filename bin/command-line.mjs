// The words of the command line as a command, or what is wrong with them. Reads no file and no environment.
import { parseArgs } from "node:util";
import { invalidInput } from "./failure.mjs";

/**
 * @typedef {{ server?: string, key?: string, config?: string, collection?: string, json: boolean, timeoutMs: number, retries: number }} Common
 * @typedef {Common & { name: "ask", stream: boolean, body: Record<string, unknown> }} AskCommand
 * @typedef {Common & { name: "search", body: Record<string, unknown> }} SearchCommand
 * @typedef {Common & { name: "schema" }} SchemaCommand
 * @typedef {AskCommand | SearchCommand | SchemaCommand} ServerCommand
 * @typedef {Record<string, string | boolean | undefined>} Values
 * @typedef {ServerCommand | { name: "help" } | { name: "version" }} Command
 */

const USAGE = {
  ask: 'holdfast ask "QUESTION" [--stream] [options]',
  search: 'holdfast search "QUERY" [options]',
  schema: "holdfast schema [options]",
};

export const HELP = `${Object.values(USAGE).join("\n")}

  ask      answers from the documents of a collection: one line answer.v1 on stdout
  search   what fits a query: one line search_response.v1 on stdout
  schema   what the server can do: one line schema.v1 on stdout

of ask
  --stream                 the events on stderr as they come, one JSON line each
  --temperature N          0 to 2
  --seed N
  --multi-hop              ask in several steps
  --session ID             the conversation that the question belongs to; also --conversation
  --route NAME             the server's route to a model
  --retries N              how often in a row a lost connection is taken up again (8)
of ask and search
  --k N                    how many hits, 1 to 100 (the server's: 10)
  --mode MODE              lexical, vector or hybrid (the server's: lexical)
  --explain                how the hits were found
of all
  --collection NAME        (the server's: default)
  --server URL             or HOLDFAST_URL (http://localhost:8787)
  --key KEY                better in HOLDFAST_KEY: other users of a machine can read a command's words
  --config FILE            JSON with server, collection and keyVar, the name of the variable that has the key
  --timeout SECONDS        how long the server may be silent (75)
  --json                   errors as one line error.v1
  --help, --version

exit status: 0 an answer with sources (hits, a schema); 1 refused or cancelled (no hits); 2 an error
Ctrl-C cancels the run; with --stream, so does closing stderr, at the next line.`;

const text = /** @type {const} */ ({ type: "string" });
const flag = /** @type {const} */ ({ type: "boolean" });
const common = {
  collection: text,
  server: text,
  key: text,
  config: text,
  timeout: text,
  json: flag,
  help: flag,
  version: flag,
};
const found = { k: text, mode: text, explain: flag };
/** @type {Record<keyof typeof USAGE, Record<string, typeof text | typeof flag>>} */
const options = {
  ask: {
    ...common,
    ...found,
    stream: flag,
    temperature: text,
    seed: text,
    "multi-hop": flag,
    session: text,
    conversation: text,
    route: text,
    retries: text,
  },
  search: { ...common, ...found },
  schema: common,
};

/** @param {string | undefined} name */
export const usageOf = (name) =>
  `usage: ${isName(name) ? USAGE[name] : "holdfast ask | search | schema"}\nholdfast --help has all options`;

/**
 * @param {string | undefined} name
 * @returns {name is keyof typeof USAGE}
 */
const isName = (name) => name === "ask" || name === "search" || name === "schema";

/**
 * @param {string[]} words
 * @returns {{ ok: true, value: Command } | { ok: false, failure: import("./failure.mjs").Failure, name: string | undefined }}
 */
export function readCommand(words) {
  const [name, ...rest] = words;
  if (name === "--help" || name === "-h" || name === "help") return { ok: true, value: { name: "help" } };
  if (name === "--version") return { ok: true, value: { name: "version" } };
  if (!isName(name)) {
    const message = name === undefined ? "A command is missing." : `There is no command ${JSON.stringify(name)}.`;
    return { ok: false, failure: invalidInput("command", message), name };
  }
  const read = parse(name, rest);
  return read.ok ? read : { ...read, name };
}

/**
 * @param {keyof typeof USAGE} name
 * @param {string[]} words
 * @returns {{ ok: true, value: Command } | { ok: false, failure: import("./failure.mjs").Failure }}
 */
function parse(name, words) {
  let parsed;
  try {
    parsed = parseArgs({ args: words, options: options[name], allowPositionals: true });
  } catch (fault) {
    return refused("options", fault instanceof Error ? fault.message : String(fault));
  }
  const values = plain(parsed.values);
  if (values["help"] === true) return { ok: true, value: { name: "help" } };
  if (values["version"] === true) return { ok: true, value: { name: "version" } };
  const fault = valueFault(values);
  if (fault !== undefined) return refused(fault.field, fault.message);
  const shared = {
    ...worded(values, ["server", "key", "config", "collection"]),
    json: values["json"] === true,
    timeoutMs: (numberOf(values["timeout"]) ?? 75) * 1000,
    retries: numberOf(values["retries"]) ?? 8,
  };
  if (name === "schema") {
    if (parsed.positionals.length > 0) return refused("words", "schema takes no words.");
    return { ok: true, value: { ...shared, name } };
  }
  const [sentence = "", ...more] = parsed.positionals;
  const field = name === "ask" ? "question" : "query";
  if (sentence.trim() === "") return refused(field, `A ${field} is missing.`);
  if (more.length > 0) return refused(field, `The ${field} is one word for the shell: put it in quotes.`);
  const body = { [field]: sentence, ...numbered(values, ["k"]), ...worded(values, ["mode"]) };
  if (name === "search") {
    return {
      ok: true,
      value: { ...shared, name, body: { ...body, ...(values["explain"] === true && { trace: true }) } },
    };
  }
  const conversation = values["conversation"] ?? values["session"];
  return {
    ok: true,
    value: {
      ...shared,
      name,
      stream: values["stream"] === true,
      body: {
        ...body,
        ...numbered(values, ["temperature", "seed"]),
        ...worded(values, ["route"]),
        ...(values["explain"] === true && { explain: true }),
        ...(values["multi-hop"] === true && { multi_hop: true }),
        ...(conversation !== undefined && { conversation }),
      },
    },
  };
}

/**
 * None is given as a list.
 * @param {Record<string, unknown>} values
 * @returns {Values}
 */
const plain = (values) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "boolean" ? [[name, value]] : [],
    ),
  );

/** @type {Record<string, { is: (value: number) => boolean, must: string }>} */
const numbers = {
  k: { is: (value) => Number.isInteger(value) && value >= 1 && value <= 100, must: "a whole number from 1 to 100" },
  temperature: { is: (value) => value >= 0 && value <= 2, must: "a number from 0 to 2" },
  seed: { is: Number.isSafeInteger, must: "a whole number" },
  timeout: { is: (value) => value > 0 && value <= 3600, must: "a number of seconds, at most 3600" },
  retries: {
    is: (value) => Number.isInteger(value) && value >= 0 && value <= 100,
    must: "a whole number from 0 to 100",
  },
};

/** @param {Values} values */
function valueFault(values) {
  for (const [field, { is, must }] of Object.entries(numbers)) {
    const value = values[field];
    if (value === undefined) continue;
    const number = numberOf(value);
    if (number === undefined || !is(number)) return { field, message: `--${field} must be ${must}.` };
  }
  const { mode, session, conversation } = values;
  if (mode !== undefined && !["lexical", "vector", "hybrid"].includes(String(mode))) {
    return { field: "mode", message: "--mode must be lexical, vector or hybrid." };
  }
  if (session !== undefined && conversation !== undefined) {
    return { field: "conversation", message: "--session and --conversation are the same: give one." };
  }
  return undefined;
}

/** @param {string | boolean | undefined} value */
const numberOf = (value) => (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined);

/**
 * @param {Values} values
 * @param {string[]} names
 */
const worded = (values, names) =>
  Object.fromEntries(names.flatMap((name) => (typeof values[name] === "string" ? [[name, values[name]]] : [])));

/**
 * @param {Values} values
 * @param {string[]} names
 */
const numbered = (values, names) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const number = numberOf(values[name]);
      return number === undefined ? [] : [[name, number]];
    }),
  );

/**
 * @param {string} field
 * @param {string} message
 */
const refused = (field, message) => ({ ok: /** @type {const} */ (false), failure: invalidInput(field, message) });
