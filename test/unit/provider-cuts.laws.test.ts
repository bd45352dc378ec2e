// Law 2 of every provider reader over the corpus: a stream that is cut at any byte, by an end or by a reset, is never complete
// before its format's terminal contract was met, and shows nothing but a prefix. The reset is judged through the attempt that
// the product runs. With `--mode laws` at every byte, else at a share of them.
import { expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import { startAttempt } from "../../durable-objects/attempt.ts";
import { stampEchoes } from "../../src/providers/echo.ts";
import { adapters } from "../../src/providers/index.ts";
import type { CorpusStream, StreamFormat } from "../support/corpus/corpus-stream.ts";
import { corpus, formatOf, framingOf } from "../support/corpus/index.ts";
import { allLaws, drawing } from "../support/corpus/laws.ts";
import { readPackets, sumUp, type Reading } from "../support/corpus/reading.ts";
import { bedrockException, bedrockStop, bedrockText } from "../support/provider-bytes/bedrock-converse.ts";
import { jsonLine, sseEvent } from "../support/provider-bytes/framing.ts";
import { joinBytes, toBytes } from "../support/provider-bytes/splits.ts";

/** What may come of a stream's beginning, given what comes of all of it. */
function judgeCut(
  stream: CorpusStream,
  whole: Reading,
  events: readonly ProviderEvent[],
  cut: number,
  met: number,
): void {
  const reading = sumUp(events);
  const at = `${stream.format}: ${stream.name}, cut at ${cut}`;
  const [verdict] = reading.verdicts;
  if (reading.verdicts.length !== 1 || reading.last !== verdict) expect.fail(`${at}: not one verdict, last`);
  if (verdict?.verdict === "complete" && cut < met) expect.fail(`${at}: complete before byte ${met}`);
  if (verdict?.verdict !== "complete" && reading.calls.length > 0) expect.fail(`${at}: a tool call without an end`);
  if (!whole.text.startsWith(reading.text)) expect.fail(`${at}: text is no prefix`);
  if (!whole.reasoning.startsWith(reading.reasoning)) expect.fail(`${at}: reasoning is no prefix`);
}

test("R-PROV-1 R-FALL-7 an end at any byte is never complete before the terminal contract, and shows only a prefix", () => {
  let cuts = 0;
  for (const stream of corpus) {
    const bytes = toBytes(stream.wire);
    const whole = sumUp(readPackets(stream.format, [bytes]));
    const met = formatOf(stream).contractMetAt(stream);
    for (let cut = 0; cut <= bytes.length; cut++) {
      cuts++;
      const reader = adapters[stream.format].reader({ maxEvent: 1_000_000 });
      judgeCut(stream, whole, [...reader.feed(bytes.subarray(0, cut)), ...reader.end()], cut, met);
      const late = [...reader.feed(bytes.subarray(cut)), ...reader.end()];
      if (late.length > 0)
        expect.fail(`${stream.format}: ${stream.name}, cut at ${cut}: something follows the verdict`);
    }
  }
  console.log(`ends judged: ${cuts}, at every byte of ${corpus.length} streams`);
  expect(cuts).toBeGreaterThan(50_000);
}, 240_000);

test("R-PROV-1 R-FALL-7 a reset at any byte is a reset, unless the stream was over; what had arrived counts", async () => {
  let cuts = 0;
  const draw = drawing(11);
  for (const stream of corpus) {
    const bytes = toBytes(stream.wire);
    const whole = sumUp(readPackets(stream.format, [bytes]));
    const met = formatOf(stream).contractMetAt(stream);
    const everywhere = allLaws || stream.name === "the shortest answer";
    const places = everywhere
      ? Array.from({ length: bytes.length + 1 }, (_, cut) => cut)
      : [0, bytes.length, ...Array.from({ length: 6 }, () => draw(bytes.length + 1) - 1)];
    for (const cut of places) {
      cuts++;
      const start = bytes.subarray(0, cut);
      const events = await attemptOver(stream, start);
      judgeCut(stream, whole, events, cut, met);
      const reader = adapters[stream.format].reader({ maxEvent: 1_000_000 });
      const read = reader.feed(start);
      const proven = read.some((event) => event.type === "finishing" && event.proven === true);
      // Where more than the contract may follow, it may also be missing.
      if (proven && cut < met) expect.fail(`${stream.format}: ${stream.name}, proven at ${cut}, before byte ${met}`);
      const due = stamped(
        stream,
        read.at(-1)?.type === "verdict" ? read : [...read, ...(proven ? reader.end() : [reset])],
      );
      // A body whose beginning is no stream is classed as an answer.
      if (!startsAsStream(stream, start)) continue;
      if (JSON.stringify(events) !== JSON.stringify(due)) {
        expect.fail(`${stream.format}: ${stream.name}, reset at ${cut}: ${JSON.stringify(events)}`);
      }
    }
  }
  console.log(`resets judged: ${cuts}${allLaws ? ", at every byte" : ""}`);
  expect(cuts).toBeGreaterThan(allLaws ? 50_000 : 1000);
}, 240_000);

test.each<[string, StreamFormat, string | Uint8Array, string]>([
  ["Bedrock's messageStop", "bedrock-converse", joinBytes([bedrockText("a"), bedrockStop()]), "complete"],
  [
    "a Gemini finishReason",
    "gemini",
    sseEvent({ candidates: [{ content: { parts: [{ text: "a" }] }, finishReason: "STOP" }] }),
    "complete",
  ],
  [
    "a Gemini finishReason in an array that is open",
    "gemini",
    '[{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}',
    "failed",
  ],
  [
    "a finish_reason without [DONE]",
    "openai-chat",
    sseEvent({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] }),
    "failed",
  ],
  [
    "a stop_reason without message_stop",
    "anthropic-messages",
    sseEvent({ type: "content_block_delta", delta: { text: "a" } }) +
      sseEvent({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
    "failed",
  ],
])("R-PROV-1 a reset after %s: what is proven by then stands", async (_name, format, wire, verdict) => {
  const reading = sumUp(await attemptOver({ format }, toBytes(wire)));
  expect(reading).toMatchObject({ text: "a", verdicts: [{ verdict }] });
});

/** What each format's service says in the middle of a stream when it is overloaded. */
const errorIn: Record<StreamFormat, Uint8Array> = {
  "openai-chat": toBytes(sseEvent({ error: { type: "overloaded_error", message: "m" } })),
  "openai-responses": toBytes(sseEvent({ type: "error", code: "server_is_overloaded", message: "m" })),
  "anthropic-messages": toBytes(sseEvent({ type: "error", error: { type: "overloaded_error" } }, {}, "error")),
  gemini: toBytes(sseEvent({ error: { code: 503, status: "UNAVAILABLE" } })),
  ollama: toBytes(jsonLine({ error: "server overloaded" })),
  cohere: toBytes(sseEvent({ type: "error", message: "the model is overloaded" })),
  "bedrock-converse": bedrockException("serviceUnavailableException"),
  "workers-ai": toBytes(sseEvent({ errors: [{ code: 3040, message: "m" }] })),
};

/** Offsets at which one wire event is over; none for a framing whose events have no end of their own. */
function boundariesOf(stream: CorpusStream): number[] {
  const bytes = toBytes(stream.wire);
  const framing = framingOf(stream);
  const ends: number[] = [];
  if (framing === "binary") {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at + 4 <= bytes.length && view.getUint32(at) > 0; at += view.getUint32(at)) ends.push(at);
    return ends;
  }
  const blank = framing === "sse" ? 2 : 1;
  for (let at = blank; framing !== "array" && at <= bytes.length; at++) {
    if (bytes.subarray(at - blank, at).every((byte) => byte === 10)) ends.push(at);
  }
  return ends;
}

// B16, B18
test("R-PROV-3 R-CANCEL-4 an error between any two events fails as what it is, and hands on no tool call", () => {
  let places = 0;
  for (const stream of corpus) {
    const bytes = toBytes(stream.wire);
    const whole = sumUp(readPackets(stream.format, [bytes]));
    if (stream.end.verdict !== "complete") continue;
    const met = formatOf(stream).contractMetAt(stream);
    for (const cut of boundariesOf(stream).filter((offset) => offset < met)) {
      places++;
      const events = readPackets(stream.format, [bytes.subarray(0, cut), errorIn[stream.format]]);
      judgeCut(stream, whole, events, cut, met);
      const last = events.at(-1);
      if (last?.type !== "verdict" || last.verdict !== "failed" || last.failure.failureClass !== "overloaded") {
        expect.fail(`${stream.format}: ${stream.name}, an error at ${cut}: ${JSON.stringify(last)}`);
      }
    }
  }
  console.log(`errors between events judged: ${places}`);
  expect(places).toBeGreaterThan(300);
});

const reset: Verdict = {
  type: "verdict",
  verdict: "failed",
  failure: { failureClass: "reset", message: "The provider's connection broke." },
};

function startsAsStream({ format }: CorpusStream, bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes).trimStart();
  return text === "" || adapters[format].starts(text.charAt(0));
}

const asked: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Hi" };
const targetOf = (format: StreamFormat): Target => ({
  id: "cut",
  adapter: format,
  baseUrl: "http://localhost",
  model: "m",
});

/** The events as an attempt hands them on. */
function stamped({ format }: CorpusStream, events: ProviderEvent[]): ProviderEvent[] {
  const [adapter, target] = [adapters[format], targetOf(format)];
  return stampEchoes(events, adapter, target, adapter.request(asked, target, undefined).prefix);
}

/** What an attempt makes of a body that is these bytes and then breaks. */
function attemptOver({ format }: Pick<CorpusStream, "format">, bytes: Uint8Array): Promise<ProviderEvent[]> {
  const ended = Promise.withResolvers<ProviderEvent[]>();
  const events: ProviderEvent[] = [];
  let sent = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent || bytes.length === 0) return controller.error(new Error("reset"));
        sent = true;
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
  startAttempt({
    adapter: { ...adapters[format], respond: () => new Response(body) },
    planned: {
      target: targetOf(format),
      clocks: { headersMs: 60_000, firstOutputMs: 60_000, idleMs: 60_000, progressMs: 60_000, minBytesPerSecond: 0 },
    },
    request: asked,
    key: undefined,
    bindings: {},
    now: Date.now,
    emit(more) {
      events.push(...more);
      if (more.at(-1)?.type === "verdict") ended.resolve(events);
    },
  });
  return ended.promise;
}
