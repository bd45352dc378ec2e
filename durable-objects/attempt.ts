// One attempt at one target: the request, the read loop, its clocks. Reports provider events and exactly one verdict; decides nothing about the run.
import type { Failure, FailureClass } from "../schemas/failure.ts";
import type { PlannedTarget } from "../schemas/plan.ts";
import type { ProviderEvent } from "../schemas/provider.ts";
import type { StartRequest } from "../schemas/run.ts";
import { unknownParameters } from "../src/providers/conversation.ts";
import { stampEchoes } from "../src/providers/echo.ts";
import type { Adapter, AdapterRequest, Bindings } from "../src/providers/provider.ts";
import { isOutput } from "../src/providers/until-verdict.ts";
import { faultLine } from "../src/wire/fault-line.ts";
import { attemptClock } from "./attempt-clock.ts";
import { bodyReader, BrokenBody, type BodyReader } from "./body-reader.ts";
import { pieceBatch } from "./piece-batch.ts";
import type { Timer } from "./within.ts";

/** Bytes of one wire event. */
const MAX_EVENT = 16 * 1024 * 1024;
/** Bytes of an error answer that are read to class it. */
const MAX_ERROR_BYTES = 65_536;
/** Milliseconds to wait for usage after the answer is over. */
const USAGE_WAIT_MS = 5000;

export interface AttemptOptions {
  adapter: Adapter;
  planned: Pick<PlannedTarget, "clocks" | "target">;
  request: StartRequest;
  /** The target's secret; `missing` when it names one that is not set. */
  key: string | undefined | { missing: string };
  bindings: Bindings;
  /** Never called before `startAttempt` returned. The last event of the last call is the verdict. */
  emit(events: ProviderEvent[]): void;
  now(): number;
}

export interface Attempt {
  /** Closes the provider's socket. The verdict, if still due, is `aborted`. */
  abort(): void;
}

export function startAttempt(options: AttemptOptions): Attempt {
  const { adapter, planned, now } = options;
  const abort = new AbortController();
  const stage = adapter.reader({ maxEvent: MAX_EVENT });
  let body: BodyReader | undefined;
  let ended = false;
  let prefix: string | undefined;
  let usageTimer: Timer | undefined;
  /** The format's terminal contract is met. */
  let proven = false;
  /** Classes what has come of an answer that is no stream. */
  let refusal: (() => Failure) | undefined;

  const emit = (events: ProviderEvent[]): void => options.emit(stampEchoes(events, adapter, planned.target, prefix));

  const end = (events: ProviderEvent[]): void => {
    if (ended) return;
    ended = true;
    clock.stop();
    batch.stop();
    if (usageTimer !== undefined) clearTimeout(usageTimer);
    // Aborting covers the phase before headers, cancelling the reader the one after.
    abort.abort();
    body?.cancel().catch(() => undefined);
    emit(events);
  };
  const fail = (failure: Failure): void => end([{ type: "verdict", verdict: "failed", failure }]);

  const clock = attemptClock(planned.clocks, now, (failureClass, floor) =>
    guarded(() => {
      batch.flush();
      // A refusal that stalls is still the refusal that its status says.
      fail(
        refusal?.() ?? {
          failureClass,
          message: clockMessages[failureClass] ?? "",
          ...(floor !== undefined && { floor }),
        },
      );
    }),
  );

  const deliver = (events: ProviderEvent[]): void => {
    if (ended || events.length === 0) return;
    const last = events.at(-1);
    if (last?.type === "verdict") return end(events);
    const shows = events.some(isOutput);
    clock.event(shows);
    emit(events);
    const marks = events.filter((event) => event.type === "finishing");
    proven ||= marks.some((mark) => mark.proven === true);
    if (usageTimer === undefined ? marks.length > 0 : shows) awaitUsage();
  };

  /** The answer is over: from here on only this wait counts, begun anew by what is shown all the same. */
  const awaitUsage = (): void => {
    clock.stop();
    if (usageTimer !== undefined) clearTimeout(usageTimer);
    const giveUp = (): void => {
      batch.flush();
      end(stage.end());
    };
    usageTimer = setTimeout(() => guarded(giveUp), USAGE_WAIT_MS);
  };

  const broken = (): void => {
    // The runtime's message may hold hosts and paths, and cannot tell causes apart: only the phase counts.
    const failureClass = body === undefined ? "connect" : "reset";
    fail({ failureClass, message: clockMessages[failureClass] ?? "" });
  };
  /** What our own code throws is no word of the provider's, and says nothing to a client. */
  const bug = (error: unknown): void => {
    console.error(faultLine("bug", error));
    fail({ failureClass: "unknown", message: "The server failed to read the provider's answer." });
  };
  /** Nobody else would notice: the run would go on waiting. */
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      bug(error);
    }
  };
  const count = (bytes: number): void => clock.bytes(bytes, now());
  const batch = pieceBatch(
    (bytes) => {
      const events = stage.feed(bytes);
      deliver(events);
      return events.length;
    },
    now,
    bug,
  );

  const send = async (built: AdapterRequest): Promise<Response | Failure> =>
    adapter.respond?.(built, planned.target, abort.signal, options.bindings) ??
    fetch(built.url, {
      method: "POST",
      headers: built.headers,
      body: built.body,
      redirect: "manual",
      signal: abort.signal,
    });

  const run = async (): Promise<void> => {
    const { key } = options;
    if (typeof key === "object") {
      return fail({ failureClass: "auth", message: `The secret ${key.missing} is not set on this server.` });
    }
    const plain = adapter.request(options.request, planned.target, key);
    prefix = plain.prefix;
    const built = (await adapter.sign?.(plain, planned.target, key)) ?? plain;
    if (ended) return;
    if ("failureClass" in built) return fail(built);
    // What the configuration adds is checked before it is used; a secret comes as somebody pasted it.
    if (!Object.values(built.headers).every((value) => /^[\x20-\x7e]*$/.test(value))) {
      const message = `The secret ${planned.target.keyVar ?? ""} holds characters that a header cannot carry.`;
      return fail({ failureClass: "auth", message });
    }
    const unsupported = [...built.unsupported, ...unknownParameters(options.request)];
    deliver(unsupported.map((parameter) => ({ type: "diagnostic", code: "parameter_unsupported", parameter })));
    const response = await send(built).catch(() => undefined);
    if (response === undefined) return broken();
    if ("failureClass" in response) return fail(response);
    if (ended) return response.body?.cancel();
    clock.headers();
    if (response.body !== null) body = bodyReader(response.body);
    const start = response.ok ? await firstBytes(body, adapter, count) : { usable: false, bytes: [] };
    if (!start.usable) {
      const { status, headers } = response;
      const text = errorBody(body, start.bytes, count);
      refusal = () => adapter.failure({ status, headers, body: text.soFar(), now: now() });
      await text.read();
      return fail(refusal());
    }
    for (const bytes of start.bytes) batch.add(bytes, now());
    if (ended) return;
    await body?.each((bytes) => {
      if (ended) return false;
      const at = now();
      clock.bytes(bytes.byteLength, at);
      batch.add(bytes, at);
      return !ended;
    });
    batch.flush();
    if (!ended) end(stage.end());
  };

  const start = Promise.resolve().then(run);
  start.catch((error: unknown) =>
    guarded(() => {
      // What had arrived before the break was sent, and counts.
      batch.flush();
      if (proven && !ended) end(stage.end());
      else if (error instanceof BrokenBody) broken();
      else bug(error);
    }),
  );

  return {
    abort: () => end([{ type: "verdict", verdict: "aborted" }]),
  };
}

const clockMessages: Partial<Record<FailureClass, string>> = {
  connect: "The provider could not be reached.",
  reset: "The provider's connection broke.",
  timeout_headers: "The provider sent no response headers in time.",
  timeout_ttft: "The provider showed no output in time.",
  timeout_idle: "The provider fell silent.",
  timeout_progress: "The provider's stream made no progress.",
};

/** Reads until the body shows its first character: a page or a JSON answer must not pass for a stream. */
async function firstBytes(body: BodyReader | undefined, adapter: Adapter, count: (bytes: number) => void) {
  const bytes: Uint8Array[] = [];
  // One for all pieces: a byte order mark may come in several.
  const decoder = new TextDecoder();
  for (let piece = await body?.read(); piece !== undefined; piece = await body?.read()) {
    count(piece.byteLength);
    bytes.push(piece.slice());
    const text = decoder.decode(piece, { stream: true }).trimStart();
    if (text !== "") return { usable: adapter.starts(text.charAt(0)), bytes };
    if (bytes.length > 1000) break;
  }
  // An empty body is the adapter's to judge: it is a stream that ended before it began.
  return { usable: true, bytes };
}

function errorBody(body: BodyReader | undefined, first: readonly Uint8Array[], count: (bytes: number) => void) {
  const decoder = new TextDecoder();
  let text = first.map((bytes) => decoder.decode(bytes, { stream: true })).join("");
  return {
    soFar: () => text.slice(0, MAX_ERROR_BYTES),
    async read(): Promise<void> {
      try {
        while (text.length < MAX_ERROR_BYTES) {
          const piece = await body?.read();
          if (piece === undefined) break;
          count(piece.byteLength);
          text += decoder.decode(piece, { stream: true });
        }
      } catch {
        // A broken error body still leaves its status and headers to class.
      }
    },
  };
}
