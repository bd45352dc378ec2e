// A question as a run of the server: asked once, read to its end however often the connection breaks, or cancelled.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { open } from "./connection.mjs";
import { errorIn, failed, generic, unreachable } from "./failure.mjs";
import { BROKEN, noHoldfast, refusalOf, wholeLine } from "./fetch-line.mjs";
import { linesOf } from "./line-reader.mjs";

/**
 * @typedef {import("./connection.mjs").Server} Server
 * @typedef {import("./failure.mjs").Failure} Failure
 * @typedef {import("./line-reader.mjs").Line} Line
 * @typedef {{ ok: true, value: { text: string, grounded: boolean } } | { ok: false, failure: Failure, cancelled?: boolean }} Ended
 * @typedef {{ show: (line: string) => Promise<void>, stop: AbortSignal, retries: number }} Watch `stop` cancels the run
 * @typedef {{ runId: string | undefined, after: number | undefined }} Place how far the stream was read
 * @typedef {{ kind: "lost", cause: string, refusal?: Failure, waitMs?: number }} Lost
 * @typedef {{ kind: "ended", ended: Ended } | Lost} Reading
 */

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 8000;
/** For a run that was asked for and has not been named yet, when it is to be cancelled. */
const NAME_WAIT_MS = 10_000;
/** A connection may have been made, and the run with it: the same key asks for the same one. */
const MAYBE_ASKED = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT"]);
/** Of a server that is restarting, or of what stands before it. */
const PASSING = new Set([502, 503, 504]);

/**
 * @param {Server} server
 * @param {Record<string, unknown>} body
 * @param {Watch} watch
 * @returns {Promise<Ended>}
 */
export async function askQuestion(server, body, { show, stop, retries }) {
  const start = { path: "ask", body, headers: { "idempotency-key": randomUUID() } };
  /** @type {Place} */
  const place = { runId: undefined, after: undefined };
  let isLastTry = false;
  for (let tries = 0; ;) {
    const before = { ...place };
    const reading = await read(server, start, place, { show, stop });
    if (reading.kind === "ended") return reading.ended;
    const { runId } = place;
    const isMaybeAsked = MAYBE_ASKED.has(reading.cause);
    if (stop.aborted) {
      if (runId !== undefined) return cancel(server, runId, retries);
      if (isLastTry || !isMaybeAsked) return { ...failed(notAsked), cancelled: true };
      // There may be a run to cancel, and the key names it.
      isLastTry = true;
      continue;
    }
    tries = runId === before.runId && place.after === before.after ? tries + 1 : 1;
    if (runId === undefined && reading.refusal === undefined && !isMaybeAsked) return givenUp(server, reading, runId);
    if (tries > retries) return givenUp(server, reading, runId);
    await pause(waitMs(reading, tries), stop);
  }
}

/**
 * @param {Server} server
 * @param {Lost} lost
 * @param {string | undefined} runId
 * @returns {Ended}
 */
const givenUp = ({ origin }, { cause, refusal }, runId) =>
  failed((runId === undefined ? refusal : undefined) ?? unreachable(origin, cause, runId));

/**
 * @param {Lost} lost
 * @param {number} tries
 */
const waitMs = ({ waitMs: asked = 0 }, tries) =>
  Math.min(Math.max(asked, FIRST_WAIT_MS * 2 ** (tries - 1)), MAX_WAIT_MS);

const notAsked = generic("Cancelled before the server had named a run.");

/**
 * One connection: the run's stream from its beginning, or from where it was left.
 * @param {Server} server
 * @param {import("./connection.mjs").Request} start
 * @param {Place} place
 * @param {{ show: (line: string) => Promise<void>, stop: AbortSignal }} watch
 * @returns {Promise<Reading>}
 */
async function read(server, start, place, { show, stop }) {
  const connection = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const leave = () => {
    if (place.runId === undefined) timer ??= setTimeout(() => connection.abort(), NAME_WAIT_MS);
    else connection.abort();
  };
  stop.addEventListener("abort", leave);
  if (stop.aborted) leave();
  try {
    const { runId, after } = place;
    const wanted = runId === undefined ? start : { path: `runs/${runId}`, query: { after: after?.toString() } };
    const opened = await open(server, wanted, connection.signal);
    if (!opened.ok) return { kind: "lost", cause: opened.cause };
    const { response } = opened;
    try {
      if (response.statusCode !== 200) return await refused(response);
      place.runId ??= /\/kebab\/runs\/([^/?#]+)$/.exec(response.headers.location ?? "")?.[1];
      if (place.runId === undefined) return { kind: "ended", ended: failed(noHoldfast) };
      if (stop.aborted) return { kind: "lost", cause: "cancelled" };
      return await follow(response, place, show);
    } finally {
      response.destroy();
    }
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", leave);
  }
}

/**
 * @param {import("node:http").IncomingMessage} response
 * @returns {Promise<Reading>}
 */
async function refused(response) {
  const { statusCode = 0, headers } = response;
  const refusal = await refusalOf(response);
  const isPassing = PASSING.has(statusCode) && refusal.details["retryable"] !== false;
  if (!isPassing) return { kind: "ended", ended: failed(refusal) };
  const seconds = Number(headers["retry-after"] ?? 0);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : 0;
  return { kind: "lost", cause: `status ${statusCode}`, refusal, waitMs };
}

/**
 * Shows each event when its last line is there: what broke off before that comes again, and is not shown twice.
 * @param {AsyncIterable<Uint8Array>} bytes
 * @param {Place} place
 * @param {(line: string) => Promise<void>} show
 * @returns {Promise<Reading>}
 */
async function follow(bytes, place, show) {
  /** @type {string[]} */
  let waiting = [];
  try {
    for await (const line of linesOf(bytes)) {
      const { schema_version: kind, sequence } = line.fields;
      if (kind === "answer_event.v1") waiting.push(line.text);
      const ended = endOf(line);
      const isNew = typeof sequence === "number" && sequence > (place.after ?? -1);
      if (ended === undefined && typeof sequence !== "number") continue;
      if (ended !== undefined || isNew) for (const text of waiting) await show(text);
      waiting = [];
      if (isNew) place.after = sequence;
      if (ended !== undefined) return { kind: "ended", ended };
    }
  } catch (fault) {
    return { kind: "lost", cause: fault instanceof Error ? fault.message : String(fault) };
  }
  return { kind: "lost", cause: "the stream broke off" };
}

/**
 * @param {Line} line
 * @returns {Ended | undefined}
 */
function endOf({ text, fields }) {
  if (fields["schema_version"] === "answer.v1")
    return { ok: true, value: { text, grounded: fields["grounded"] === true } };
  const error = errorIn(fields);
  return error === undefined ? undefined : failed(error);
}

/**
 * The run's end, whatever it is: it may have come before the cancellation. A connection that is lost is tried again.
 * @param {Server} server
 * @param {string} runId
 * @param {number} retries
 * @returns {Promise<Ended>}
 */
async function cancel(server, runId, retries) {
  for (let tries = 1; ; tries++) {
    const reading = await readEnd(server, runId);
    if (reading.kind === "ended") return reading.ended;
    if (tries > retries) return givenUp(server, reading, runId);
    await delay(waitMs(reading, tries));
  }
}

/**
 * @param {Server} server
 * @param {string} runId
 * @returns {Promise<Reading>}
 */
async function readEnd(server, runId) {
  const opened = await open(server, { path: `runs/${runId}/cancel`, body: {} });
  if (!opened.ok) return { kind: "lost", cause: opened.cause };
  if (opened.response.statusCode !== 200) return refused(opened.response);
  const whole = await wholeLine(opened.response);
  if (whole === "broken") return { kind: "lost", cause: BROKEN };
  return { kind: "ended", ended: (whole === undefined ? undefined : endOf(whole)) ?? failed(noHoldfast) };
}

/**
 * @param {number} ms
 * @param {AbortSignal} stop
 */
async function pause(ms, stop) {
  // Ends early, with a rejection, when the run is to be cancelled: the caller sees that by itself.
  await delay(ms, undefined, { signal: stop }).catch(() => undefined);
}
