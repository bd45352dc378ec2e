// Bodies that end too early on a real socket, by FIN, by RST and inside a gzip stream: never completed before the format's
// terminal contract was met, and never more shown than a prefix. A sample of what the laws judge at every byte.
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import type { CorpusStream, StreamFormat } from "../support/corpus/corpus-stream.ts";
import { corpusFormats } from "../support/corpus/index.ts";
import { drawing } from "../support/corpus/laws.ts";
import { readPackets, sumUp } from "../support/corpus/reading.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import { gzipPieces } from "../support/provider-bytes/gzip.ts";
import { ollamaChat } from "../support/provider-bytes/ollama.ts";
import { openAiChat } from "../support/provider-bytes/openai-chat.ts";
import { splitBytes, streamScript, type StreamEnd } from "../support/provider-bytes/scripts.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const paths: Record<StreamFormat, string> = {
  "openai-chat": "/chat/completions",
  "openai-responses": "/responses",
  "anthropic-messages": "/v1/messages",
  gemini: "/v1beta/models/m:streamGenerateContent",
  ollama: "/api/chat",
  cohere: "/v2/chat",
  "bedrock-converse": "/model/m/converse-stream",
  "workers-ai": "/ai/run/m",
};
const pathOf = (format: StreamFormat): string => `/${format}${paths[format]}`;

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const targets = corpusFormats.map(({ format }) => ({
    id: format,
    adapter: format,
    baseUrl: `${provider.origin}/${format}`,
    model: "m",
    keyVar: "PROVIDER_KEY",
    clocks: { headersMs: 20_000, firstOutputMs: 20_000, idleMs: 20_000 },
  }));
  server = await startBare({
    config: { targets, routes: { default: ["openai-chat"] } },
    vars: { PROVIDER_KEY: "k-0123456789" },
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

async function run(format: StreamFormat, script: Script) {
  provider.on(pathOf(format), script);
  const started = await post(`${server.origin}/v1/runs`, startBody({ targets: [format] }), {
    accept: "text/event-stream",
  });
  const events = eventsOf(await started.text());
  expect(events.filter(({ type }) => type === "terminal")).toHaveLength(1);
  expect(events.at(-1)?.type).toBe("terminal");
  return { outcome: events.at(-1)?.payload ?? {}, text: shownText(events) };
}

const typeOf = ({ framing }: { framing: string }): string =>
  framing === "ndjson"
    ? "application/x-ndjson"
    : framing === "binary"
      ? "application/vnd.amazon.eventstream"
      : "text/event-stream";

const draw = drawing(3);
const shortest = corpusFormats.flatMap((format) =>
  format.streams.filter(({ name }) => name === "the shortest answer").map((stream) => ({ format, stream })),
);
const cuts = shortest.flatMap(({ format, stream }) => {
  const { length } = toBytes(stream.wire);
  return [draw(length - 1), draw(length - 1), draw(length - 1), length].flatMap((cut) =>
    (["fin", "rst"] as const).map((end) => ({ name: stream.format, cut, of: length, end, format, stream })),
  );
});

test.each(cuts)(
  "R-PROV-1 $name: $end after $cut of $of bytes is complete only when its contract was met",
  async ({ cut, end, format, stream }) => {
    const bytes = toBytes(stream.wire);
    const start = bytes.subarray(0, cut);
    // With this framing a FIN is the regular end of the body, which the reader must not believe.
    const { outcome, text } = await run(
      stream.format,
      streamScript(typeOf(format), splitBytes(start, [Math.floor(cut / 2)]), { end, framing: "until-close" }),
    );
    const whole = sumUp(readPackets(stream.format, [bytes]));
    expect(whole.text.startsWith(text)).toBe(true);
    if (cut < format.contractMetAt(stream)) expect(outcome["outcome"]).toBe("error");
    if (end === "fin") expectAsRead(stream, start, outcome, text);
    // A reset may overtake what was sent before it.
    else if (outcome["outcome"] === "error") expect(classOf(outcome)).toBe("reset");
  },
);

test("R-PROV-1 there are enough cuts, of every format", () => {
  console.log(`cuts over sockets: ${cuts.length}`);
  expect(shortest.map(({ stream }) => stream.format).toSorted()).toEqual(Object.keys(paths).toSorted());
  expect(cuts.length).toBeGreaterThanOrEqual(60);
});

const classOf = ({ error }: Record<string, unknown>): unknown => Object(Object(error).details).failureClass;

/** The run ended as the format's reader says of exactly these bytes. */
function expectAsRead(stream: CorpusStream, bytes: Uint8Array, outcome: Record<string, unknown>, text: string): void {
  const reading = sumUp(readPackets(stream.format, [bytes]));
  const [verdict] = reading.verdicts;
  expect(text).toBe(reading.text);
  if (verdict?.verdict === "complete") expect(outcome).toMatchObject({ outcome: "completed", finalText: reading.text });
  else {
    expect(outcome["outcome"]).toBe("error");
    expect(classOf(outcome)).toBe(verdict?.verdict === "failed" ? verdict.failure.failureClass : verdict?.verdict);
  }
}

const gzip = { "content-encoding": "gzip" };
const deltas = Array.from({ length: 40 }, (_, index) => `${index} 北京 🙂 é "\\ `);
const zipped = ["openai-chat", "ollama"] as const;
const eventsFor = (format: (typeof zipped)[number]): string[] =>
  format === "openai-chat"
    ? openAiChat({ deltas })
    : ollamaChat({ deltas, usage: { prompt_eval_count: 1, eval_count: 40 } });
const lengthOf = (bytes: Uint8Array): Record<string, string> => ({ ...gzip, "content-length": String(bytes.length) });

test.each(zipped)(
  "R-PROV-2 %s: a body that is one gzip stream, in awkward packets, is the same text",
  async (format) => {
    const body = gzipSync(eventsFor(format).join(""));
    for (const places of [[], [1, 2, 3, 9, 10, 11], [...body.keys()], [body.length - 8, body.length - 1]]) {
      const { outcome, text } = await run(
        format,
        streamScript("text/event-stream", splitBytes(body, places), { headers: gzip }),
      );
      expect(text).toBe(deltas.join(""));
      expect(outcome).toMatchObject({ outcome: "completed", finalText: deltas.join("") });
    }
  },
);

test.each(zipped)("R-PROV-2 %s: a gzip body with a length is the same text", async (format) => {
  const body = gzipSync(eventsFor(format).join(""));
  const { outcome } = await run(format, [
    { step: "head", status: 200, headers: lengthOf(body) },
    { step: "write", bytes: body },
  ]);
  expect(outcome).toMatchObject({ outcome: "completed", finalText: deltas.join("") });
});

const early: readonly StreamEnd[] = ["clean", "fin", "rst"];
test.each(zipped.flatMap((format) => early.map((end) => ({ format, end }))))(
  "R-PROV-1 $format: a gzip body that stops in the middle ($end) is never complete, and what it showed is a prefix",
  async ({ format, end }) => {
    const pieces = gzipPieces(eventsFor(format).map(toBytes));
    // Whole pieces and a part of one: what cannot be inflated was never said.
    const half = [...pieces.slice(0, 20), (pieces[20] ?? new Uint8Array()).subarray(0, 9)];
    const { outcome, text } = await run(format, streamScript("text/event-stream", half, { end, headers: gzip }));
    expect(outcome).toMatchObject({ outcome: "error", partialText: text });
    expect(deltas.join("").startsWith(text)).toBe(true);
    expect(["truncated", "reset", "malformed", "connect"]).toContain(classOf(outcome));
    if (end !== "rst") expect(text).toContain("北京");
  },
);

test.each(zipped)(
  "R-PROV-1 %s: an answer that was whole is complete, though its gzip trailer is missing",
  async (format) => {
    const pieces = gzipPieces(eventsFor(format).map(toBytes)).slice(0, -1);
    const { outcome } = await run(format, streamScript("text/event-stream", pieces, { headers: gzip, end: "fin" }));
    expect(outcome).toMatchObject({ outcome: "completed", finalText: deltas.join("") });
  },
);

test.each(zipped)("R-PROV-3 %s: an error answer in gzip keeps its class", async (format) => {
  const body = gzipSync(JSON.stringify({ error: { code: "insufficient_quota", message: "m" } }));
  const { outcome } = await run(format, [
    { step: "head", status: 429, headers: { ...lengthOf(body), "content-type": "application/json" } },
    { step: "write", bytes: body },
  ]);
  expect(outcome).toMatchObject({ outcome: "error", error: { details: { failureClass: "quota" } } });
});

test.each(zipped)("R-PROV-3 %s: a body that says gzip and is none fails, and shows nothing", async (format) => {
  const { outcome, text } = await run(format, streamScript("text/event-stream", eventsFor(format), { headers: gzip }));
  expect(outcome["outcome"]).toBe("error");
  expect(text).toBe("");
});
