#!/usr/bin/env node
// `npx holdfast`: asks a server from a shell, as kebab's own command does. Events go to stderr, the result to stdout, and the exit
// status says how it ended. Runs on any Node from 18 on, as it stands; never prints a key.
import { readFileSync } from "node:fs";
import { askQuestion } from "./ask.mjs";
import { HELP, readCommand, usageOf } from "./command-line.mjs";
import { fetchLine } from "./fetch-line.mjs";
import { errorLine, errorText, ioError } from "./failure.mjs";
import { readSettings } from "./settings.mjs";
import { lineWriter } from "./line-writer.mjs";

/** @import { Failure } from "./failure.mjs" */
/** @import { Command } from "./command-line.mjs" */

const GROUNDED = 0;
const REFUSED = 1;
const FAILED = 2;
/** Of a shell: ended by SIGINT. */
const INTERRUPTED = 130;
/** From npx a key stroke comes twice: from the terminal, and handed on by npm. */
const SAME_SIGNAL_MS = 500;

const words = process.argv.slice(2);
const stdout = lineWriter(process.stdout);
const stderr = lineWriter(process.stderr);

process.exitCode = await main(readCommand(words));

/** @param {ReturnType<typeof readCommand>} read */
async function main(read) {
  if (!read.ok) {
    const json = words.includes("--json");
    // The error is the last line, whoever reads it.
    if (!json) await stderr.write(usageOf(read.name));
    return complain(read.failure, json);
  }
  const command = read.value;
  if (command.name === "help") return print(HELP, GROUNDED);
  if (command.name === "version") return print(version(), GROUNDED);
  const settings = await readSettings(command, process.env);
  if (!settings.ok) return complain(settings.failure, command.json);
  const { server, collection } = settings.value;
  switch (command.name) {
    case "ask":
      return ask(command, server, collection);
    case "search":
      return search(command, server, collection);
    case "schema": {
      const found = await fetchLine(server, { path: "schema", query: { collection } });
      return found.ok ? print(found.value.text, GROUNDED) : complain(found.failure, command.json);
    }
  }
}

/**
 * @param {Extract<Command, { name: "ask" }>} command
 * @param {import("./connection.mjs").Server} server
 * @param {string | undefined} collection
 */
async function ask(command, server, collection) {
  const stop = new AbortController();
  const release = onSignals(() => stop.abort());
  /** @type {Failure | undefined} */
  let fault;
  /** @param {string} line */
  const show = async (line) => {
    if (!command.stream || stop.signal.aborted) return;
    const written = await stderr.write(line);
    if (written === "written") return;
    // Nobody reads any more: that is how a reader cancels. Anything else is a fault, and ends the run too.
    if (written !== "closed") fault = ioError(written.fault);
    stop.abort();
  };
  try {
    const body = { ...command.body, ...(collection !== undefined && { collection }) };
    const ended = await askQuestion(server, body, { show, stop: stop.signal, retries: command.retries });
    if (fault !== undefined) return await complain(fault, command.json);
    if (!ended.ok) return await complain(ended.failure, command.json, ended.cancelled ? REFUSED : FAILED);
    return await print(ended.value.text, ended.value.grounded ? GROUNDED : REFUSED);
  } finally {
    release();
  }
}

/**
 * @param {Extract<Command, { name: "search" }>} command
 * @param {import("./connection.mjs").Server} server
 * @param {string | undefined} collection
 */
async function search(command, server, collection) {
  const body = { ...command.body, ...(collection !== undefined && { collection }) };
  const found = await fetchLine(server, { path: "search", body });
  if (!found.ok) return complain(found.failure, command.json);
  const { hits } = found.value.fields;
  return print(found.value.text, Array.isArray(hits) && hits.length > 0 ? GROUNDED : REFUSED);
}

/**
 * The exit status: a result that nobody reads is as good as refused.
 * @param {string} text
 * @param {number} status
 */
async function print(text, status) {
  const written = await stdout.write(text);
  if (written === "written") return status;
  return written === "closed" ? REFUSED : complain(ioError(written.fault), words.includes("--json"));
}

/**
 * @param {Failure} failure
 * @param {boolean} json
 * @param {number} [status]
 */
async function complain(failure, json, status = FAILED) {
  await stderr.write(json ? errorLine(failure) : errorText(failure));
  return status;
}

/**
 * The first signal cancels; a later one does not wait for what comes of that.
 * @param {() => void} cancel
 */
function onSignals(cancel) {
  /** @type {number | undefined} */
  let first;
  const note = () => {
    const now = performance.now();
    if (first !== undefined && now - first > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
    first ??= now;
    cancel();
  };
  const names = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
  for (const name of names) process.on(name, note);
  return () => names.forEach((name) => process.off(name, note));
}

function version() {
  return String(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
}
