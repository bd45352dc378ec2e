// A request whose answer is one JSON object: that as a line, or what went wrong.
import { open, textOf } from "./connection.mjs";
import { errorIn, failed, generic, unreachable } from "./failure.mjs";
import { lineOf } from "./line-reader.mjs";

/**
 * @param {import("./connection.mjs").Server} server
 * @param {import("./connection.mjs").Request} wanted
 * @returns {Promise<{ ok: true, value: import("./line-reader.mjs").Line } | import("./failure.mjs").Failed>}
 */
export async function fetchLine(server, wanted) {
  const opened = await open(server, wanted);
  if (!opened.ok) return failed(unreachable(server.origin, opened.cause));
  const { response } = opened;
  if (response.statusCode !== 200) return failed(await refusalOf(response));
  const line = await wholeLine(response);
  if (line === "broken") return failed(unreachable(server.origin, BROKEN));
  return line === undefined ? failed(noHoldfast) : { ok: true, value: line };
}

export const BROKEN = "the answer broke off";

/**
 * An answer as one line; undefined when it is no JSON object.
 * @param {import("node:http").IncomingMessage} response
 */
export async function wholeLine(response) {
  const text = await textOf(response);
  return text === undefined ? /** @type {const} */ ("broken") : lineOf(text.replaceAll(/[\r\n]+/g, " "));
}

/** Of an answer that is none of ours. */
export const noHoldfast = generic(
  "The server answers with something else than kebab's lines: is this the address of a Holdfast?",
);

/**
 * What an answer other than 200 says.
 * @param {import("node:http").IncomingMessage} response
 */
export async function refusalOf(response) {
  const { statusCode = 0, headers } = response;
  const line = await wholeLine(response);
  const said = line === "broken" ? undefined : errorIn(line?.fields);
  if (said !== undefined) return said;
  if (statusCode >= 300 && statusCode < 400) {
    return generic(
      `The server sends to another address, ${headers.location ?? "which it does not name"}: name that one.`,
    );
  }
  return generic(`The server answered with the status ${statusCode} and no error.v1.`);
}
