// One request to the server and its answer. Follows no redirect, as the key is for this server alone, and never tries twice.
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import net from "node:net";

/**
 * @typedef {{ origin: string, key: string | undefined, timeoutMs: number }} Server `origin` may have a path, and has no slash at its end
 * @typedef {{ path: string, query?: Record<string, string | undefined>, body?: unknown, headers?: Record<string, string> }} Request with a body it is a POST
 * @typedef {{ ok: true, response: import("node:http").IncomingMessage } | { ok: false, cause: string }} Opened
 */

// `localhost` may be an address that the server does not listen on: Node 18 tries the other one only when told.
net.setDefaultAutoSelectFamily?.(true);

/** Bytes of an answer that is read whole. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Resolves with the answer's head. A silence longer than the server's timeout breaks the connection, at any time.
 * @param {Server} server
 * @param {Request} wanted
 * @param {AbortSignal} [signal]
 * @returns {Promise<Opened>}
 */
export function open({ origin, key, timeoutMs }, { path, query = {}, body, headers = {} }, signal) {
  const url = new URL(`${origin}/kebab/${path}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const request = send(url, {
      method: text === undefined ? "GET" : "POST",
      headers: {
        accept: "application/x-ndjson, application/json",
        ...(text !== undefined && {
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(text)),
        }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      agent: false,
      ...(signal !== undefined && { signal }),
    });
    request.setTimeout(timeoutMs, () => request.destroy(Object.assign(new Error("silent"), { code: "ETIMEDOUT" })));
    // Also what breaks later: the answer's reader is told of that by itself.
    request.on("error", (fault) => resolve({ ok: false, cause: causeOf(fault) }));
    request.on("response", (response) => {
      response.on("error", () => undefined);
      resolve({ ok: true, response });
    });
    request.end(text);
  });
}

/**
 * The whole answer; undefined when it broke or is too long.
 * @param {import("node:http").IncomingMessage} response
 */
export async function textOf(response) {
  /** @type {Buffer[]} */
  const parts = [];
  let bytes = 0;
  try {
    for await (const part of response) {
      bytes += part.length;
      if (bytes > MAX_ANSWER_BYTES) return undefined;
      parts.push(part);
    }
  } catch {
    return undefined;
  } finally {
    response.destroy();
  }
  return Buffer.concat(parts).toString("utf8");
}

/** @param {Error & { code?: unknown }} fault */
const causeOf = ({ code, message }) => (typeof code === "string" ? code : message);
