// Proves that the scripted provider does on the wire what a script says and sees what its caller does. Callers are raw
// sockets and Node's own fetch; nothing here runs the product.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configSchema } from "../../schemas/config.ts";
import { openRawClient } from "../support/fault-provider/raw-client.ts";
import type { RawClient } from "../support/fault-provider/raw-client.ts";
import { MAX_REQUEST_BODY_BYTES, startFaultProvider } from "../support/fault-provider/server.ts";
import type { FaultProvider } from "../support/fault-provider/server.ts";
import {
  anthropicErrorEvent,
  anthropicEvent,
  anthropicMessageStart,
  anthropicMessages,
  anthropicOverloaded,
} from "../support/provider-bytes/anthropic-messages.ts";
import { sseComment } from "../support/provider-bytes/framing.ts";
import { ollamaChat, ollamaErrorLine, ollamaLine } from "../support/provider-bytes/ollama.ts";
import {
  openAiChat,
  openAiCompletion,
  openAiDelta,
  openAiError,
  openAiErrorEvent,
  openAiEvent,
} from "../support/provider-bytes/openai-chat.ts";
import {
  answerScript,
  errorScript,
  joinBytes,
  seededSplits,
  splitBytes,
  streamScript,
} from "../support/provider-bytes/scripts.ts";

const CANCEL_BOUND_MS = 250;

let provider: FaultProvider;
let clients: RawClient[];

beforeEach(async () => {
  provider = await startFaultProvider();
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  await provider.stop();
});

async function call(path: string, body = ""): Promise<RawClient> {
  const client = await openRawClient(provider.port);
  clients.push(client);
  client.send(request(path, body));
  return client;
}

function request(path: string, body = ""): string {
  return `POST ${path} HTTP/1.1\r\nhost: test\r\ncontent-length: ${new TextEncoder().encode(body).length}\r\n\r\n${body}`;
}

async function bodyText(path: string): Promise<string> {
  const response = await fetch(`${provider.origin}${path}`, { method: "POST", body: "{}" });
  return response.text();
}

function payloads(events: readonly string[]): unknown[] {
  return events.map((event): unknown => {
    const payload = event.replace(/^[\s\S]*?data: /, "").trim();
    return payload === "[DONE]" ? payload : JSON.parse(payload);
  });
}

describe("writing", () => {
  test("each write and each chunk arrives as its own packet, byte for byte", async () => {
    const face = new TextEncoder().encode("🙂");
    provider.on("/p", [
      { step: "write", bytes: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" },
      { step: "gate", name: "one" },
      { step: "chunk", bytes: "data: a" },
      { step: "gate", name: "two" },
      { step: "chunk", bytes: face.subarray(0, 1) },
      { step: "gate", name: "three" },
      { step: "chunk", bytes: face.subarray(1) },
      { step: "gate", name: "four" },
      { step: "lastChunk" },
    ]);
    const client = await call("/p");
    await client.receivedUpTo("\r\n\r\n");
    provider.open("one");
    await client.receivedUpTo("7\r\ndata: a\r\n");
    provider.open("two");
    await client.receivedUpTo("1\r\n\ufffd\r\n");
    provider.open("three");
    await client.receivedUpTo("\r\n3\r\n\ufffd\ufffd\ufffd\r\n");
    provider.open("four");
    await client.receivedUpTo("0\r\n\r\n");
    expect(client.pieces.map((piece) => piece.toString("latin1"))).toEqual([
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
      "7\r\ndata: a\r\n",
      "1\r\n\xf0\r\n",
      "3\r\n\x9f\x99\x82\r\n",
      "0\r\n\r\n",
    ]);
    const [record] = provider.calls("/p");
    expect(await record?.answered).toBe("played");
    expect(record?.bytesWritten).toBe(client.pieces.reduce((sum, piece) => sum + piece.length, 0));
  });

  test("a gate holds what comes after it until it is opened, and one opened early does not hold", async () => {
    provider.on(
      "/p",
      streamScript("text/plain", ["a", "b"], { gateBefore: { index: 1, name: "late" }, gateAtEnd: "early" }),
    );
    provider.open("early");
    const client = await call("/p");
    await client.receivedUpTo("1\r\na\r\n");
    await provider.reached("late");
    const before = client.text();
    expect(before.endsWith("1\r\na\r\n")).toBe(true);
    provider.open("late");
    await client.receivedUpTo("0\r\n\r\n");
    expect(client.text()).toBe(`${before}1\r\nb\r\n0\r\n\r\n`);
  });

  test("every framing delivers the same body to fetch, and gzip is undone piece by piece", async () => {
    const events = openAiChat({ deltas: ["Grüße ", "北京 ", "🙂"] });
    for (const framing of ["chunked", "length", "until-close"] as const) {
      for (const gzip of [false, true]) {
        provider.on(`/${framing}/${gzip}`, streamScript("text/event-stream", events, { framing, gzip, perPacket: 2 }));
        expect(await bodyText(`/${framing}/${gzip}`)).toBe(events.join(""));
      }
    }
    provider.on(
      "/held",
      streamScript("text/event-stream", events, { gzip: true, gateBefore: { index: 1, name: "rest" } }),
    );
    const response = await fetch(`${provider.origin}/held`);
    expect(response.headers.get("content-encoding")).toBe("gzip");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe(events[0]);
    provider.open("rest");
    let rest = "";
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) rest += part.value;
    expect(rest).toBe(events.slice(1).join(""));
  });

  test("delay waits at least as long as it says", async () => {
    provider.on("/p", streamScript("text/plain", ["a", "b", "c"], { delayMs: 20 }));
    const start = performance.now();
    expect(await bodyText("/p")).toBe("abc");
    expect(performance.now() - start).toBeGreaterThanOrEqual(38);
  });
});

describe("ending", () => {
  test("a FIN is seen as FIN and a reset as reset, each after all that was written", async () => {
    for (const end of ["fin", "rst"] as const) {
      provider.on(`/${end}`, streamScript("text/plain", ["partial"], { end, gateAtEnd: end }));
      const client = await call(`/${end}`);
      await client.receivedUpTo("partial\r\n");
      provider.open(end);
      expect(await client.ended).toBe(end);
      const [record] = provider.calls(`/${end}`);
      expect(await record?.answered).toBe(end);
      expect((await record?.closed)?.how).toBe("local");
    }
  });

  test("fetch fails on a body that ends early, whatever its framing, and not on one that ends with the connection", async () => {
    for (const framing of ["chunked", "length"] as const) {
      for (const end of ["fin", "rst"] as const) {
        provider.on("/p", streamScript("text/plain", ["partial"], { framing, end }));
        await expect(bodyText("/p")).rejects.toThrow(TypeError);
      }
    }
    provider.on("/p", streamScript("text/plain", ["partial"], { framing: "until-close", end: "fin" }));
    expect(await bodyText("/p")).toBe("partial");
  });

  test("a response that its script leaves unfinished ends with FIN", async () => {
    provider.on("/p", [
      { step: "head", status: 200, headers: { "content-length": "10" } },
      { step: "write", bytes: "short" },
    ]);
    const client = await call("/p");
    expect(await client.ended).toBe("fin");
    expect(client.text().endsWith("short")).toBe(true);
  });
});

describe("the caller's close", () => {
  const waits = [
    ["hang", { step: "hang" }],
    ["delay", { step: "delay", ms: 600_000 }],
    ["gate", { step: "gate", name: "never" }],
  ] as const;

  test.each(waits)("is noticed at once while a script is in a %s", async (_name, wait) => {
    provider.on("/p", [{ step: "head", status: 200, headers: { "transfer-encoding": "chunked" } }, wait]);
    for (const [index, how] of (["fin", "rst"] as const).entries()) {
      const client = await call("/p");
      await client.receivedUpTo("\r\n\r\n");
      const record = await provider.waitForCall("/p", index + 1);
      expect(record.closing).toBeUndefined();
      const left = { at: performance.now(), epochMs: Date.now() };
      if (how === "fin") client.close();
      else client.reset();
      const closing = await record.closed;
      expect(closing.how).toBe(how);
      expect(record.closing).toEqual(closing);
      expect(closing.at - left.at).toBeLessThan(CANCEL_BOUND_MS);
      expect(closing.epochMs).toBeGreaterThanOrEqual(left.epochMs - 1);
      expect(await record.answered).toBe("cut");
    }
  });

  test("is noticed when fetch aborts in the middle of an endless stream, and nothing more is written", async () => {
    provider.on("/p", function* endless() {
      yield { step: "head", status: 200, headers: { "transfer-encoding": "chunked" } };
      for (;;) yield { step: "chunk", bytes: "data: tick\n\n" };
    });
    const controller = new AbortController();
    const response = await fetch(`${provider.origin}/p`, { signal: controller.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    const [record] = provider.calls("/p");
    const left = performance.now();
    controller.abort();
    const closing = await record?.closed;
    expect(closing?.how).not.toBe("local");
    expect((closing?.at ?? Infinity) - left).toBeLessThan(CANCEL_BOUND_MS);
    expect(await record?.answered).toBe("cut");
    const written = record?.bytesWritten;
    await bodyText("/elsewhere");
    expect(record?.bytesWritten).toBe(written);
  });

  test("is noticed on a connection whose response is complete", async () => {
    provider.on("/p", errorScript(200, {}, "{}"));
    const client = await call("/p");
    await client.receivedUpTo("{}");
    const record = await provider.waitForCall("/p");
    expect(await record.answered).toBe("played");
    expect(record.closing).toBeUndefined();
    client.close();
    expect((await record.closed).how).toBe("fin");
  });
});

describe("requests", () => {
  test("are recorded whole: method, path, query, headers and a body of either framing, cut anywhere", async () => {
    provider.on("/a/chat/completions", errorScript(200, {}, "{}"));
    const body = JSON.stringify({ text: "北京 🙂" });
    const length = new TextEncoder().encode(body).length;
    const head = "POST /a/chat/completions?beta=1 HTTP/1.1\r\nHost: test\r\nX-Twice: a\r\nX-Twice: b\r\n";
    const counted = joinBytes([`${head}Content-Length: ${length}\r\n\r\n`, body]);
    const pieces = splitBytes(body, [3, 11]).map((piece) =>
      joinBytes([`${piece.length.toString(16)};x=y\r\n`, piece, "\r\n"]),
    );
    const chunked = joinBytes([`${head}Transfer-Encoding: chunked\r\n\r\n`, ...pieces, "0\r\nX-Trailer: t\r\n\r\n"]);
    let index = 0;
    for (const whole of [counted, chunked]) {
      for (const seed of [1, 2, 3]) {
        const client = await openRawClient(provider.port);
        clients.push(client);
        for (const piece of seededSplits(whole, seed, 40)) client.send(piece);
        const record = await provider.waitForCall("/a/chat/completions", index + 1);
        expect(record).toMatchObject({
          index,
          method: "POST",
          query: "?beta=1",
          body,
          headers: { host: "test", "x-twice": "a, b" },
        });
        index += 1;
      }
    }
    expect(provider.calls()).toHaveLength(6);
  });

  test("follow each other on one connection, also when two come in one packet", async () => {
    provider.on("/p", (record, index) => errorScript(200, {}, `{"answer":${index},"to":"${record.body}"}`));
    const client = await call("/p", "x");
    await client.receivedUpTo('{"answer":0,"to":"x"}');
    client.send(`${request("/p", "y")}${request("/p", "z")}`);
    await client.receivedUpTo('{"answer":2,"to":"z"}');
    expect(client.text()).toContain('{"answer":1,"to":"y"}HTTP/1.1 200 OK');
    expect(provider.calls("/p").map((record) => record.connection)).toEqual([0, 0, 0]);
  });

  test("find the connection closed after a response that says `connection: close`", async () => {
    provider.on("/p", errorScript(200, { connection: "close" }, "{}"));
    const client = await call("/p");
    expect(await client.ended).toBe("fin");
    expect(client.text().endsWith("{}")).toBe(true);
  });

  test("of fetch share connections when responses are complete streams", async () => {
    provider.on("/p", streamScript("text/plain", ["a", "b"]));
    for (let round = 0; round < 8; round += 1) expect(await bodyText("/p")).toBe("ab");
    const used = new Set(provider.calls("/p").map((record) => record.connection));
    expect(provider.calls("/p")).toHaveLength(8);
    expect(used.size).toBeLessThan(8);
  });

  test("to an unknown path get 404 as JSON, and are recorded", async () => {
    const response = await fetch(`${provider.origin}/nowhere?x=1`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "no_script" } });
    expect(provider.calls("/nowhere")).toHaveLength(1);
  });

  test("that break the protocol or the size limit are refused and not recorded", async () => {
    const cases = [
      ["nonsense\r\n\r\n", "HTTP/1.1 400"],
      ["POST /p HTTP/1.1\r\ncontent-length: -1\r\n\r\n", "HTTP/1.1 400"],
      [`POST /p HTTP/1.1\r\ncontent-length: ${MAX_REQUEST_BODY_BYTES + 1}\r\n\r\n`, "HTTP/1.1 413"],
      [
        `POST /p HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n${(MAX_REQUEST_BODY_BYTES + 1).toString(16)}\r\n`,
        "HTTP/1.1 413",
      ],
      [`GET /p HTTP/1.1\r\nx: ${"y".repeat(70_000)}`, "HTTP/1.1 431"],
    ] as const;
    for (const [bytes, status] of cases) {
      const client = await openRawClient(provider.port);
      clients.push(client);
      client.send(bytes);
      expect(await client.ended).toBe("fin");
      expect(client.text().slice(0, status.length)).toBe(status);
    }
    expect(provider.calls()).toEqual([]);
  });

  test("that do not come are reported with what came instead", async () => {
    await bodyText("/other");
    await expect(provider.waitForCall("/p", 1, 10)).rejects.toThrow("seen: POST /other");
  });
});

describe("the provider", () => {
  test("reset forgets everything and ends busy connections only", async () => {
    provider.on("/hang", [{ step: "hang" }]);
    provider.on("/p", errorScript(200, {}, "{}"));
    const idle = await call("/p");
    await idle.receivedUpTo("{}");
    const busy = await call("/hang");
    const hanging = await provider.waitForCall("/hang");
    provider.reset();
    expect(await busy.ended).toBe("fin");
    expect((await hanging.closed).how).toBe("local");
    expect(provider.calls()).toEqual([]);
    idle.send(request("/p"));
    await idle.receivedUpTo('"code":"no_script"}}');
    expect(provider.calls("/p")[0]).toMatchObject({ index: 0, connection: 0 });
  });

  test("stop ends hanging connections, frees the port, and reports a script that threw", async () => {
    const other = await startFaultProvider();
    other.on("/hang", [{ step: "hang" }]);
    other.on("/bug", () => {
      throw new Error("scripted bug");
    });
    const client = await openRawClient(other.port);
    clients.push(client);
    client.send(request("/hang"));
    const record = await other.waitForCall("/hang");
    await expect(fetch(`${other.origin}/bug`)).rejects.toThrow(TypeError);
    await expect(other.stop()).rejects.toThrow("a script of the fault provider threw");
    expect((await record.closed).how).toBe("local");
    expect(await client.ended).toBe("fin");
    const again = await startFaultProvider({ port: other.port });
    expect(again.port).toBe(other.port);
    await again.stop();
  });
});

describe("splits", () => {
  test("join to the same bytes, in no more pieces than allowed, and the same for the same seed", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.integer(),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: -5, max: 70 })),
        (bytes, seed, max, cuts) => {
          const pieces = seededSplits(bytes, seed, max);
          expect(joinBytes(pieces)).toEqual(joinBytes([bytes]));
          expect(pieces.length).toBeLessThanOrEqual(max);
          expect(seededSplits(bytes, seed, max)).toEqual(pieces);
          expect(joinBytes(splitBytes(bytes, cuts))).toEqual(joinBytes([bytes]));
        },
      ),
    );
    expect(splitBytes("abcdef", [4, 1, 4, 0, 9]).map((piece) => new TextDecoder().decode(piece))).toEqual([
      "a",
      "bcd",
      "ef",
    ]);
  });
});

describe("provider bytes", () => {
  test("OpenAI chat: role, reasoning, content, tool call, finish, usage, [DONE]", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const toolCalls = [{ id: "call_1", name: "look", arguments: ['{"a"', ":1}"] }];
    const events = payloads(openAiChat({ deltas: ["Hi"], reasoning: ["hm"], toolCalls, usage }));
    const deltas = [
      { role: "assistant", content: "" },
      { reasoning_content: "hm" },
      { content: "Hi" },
      { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] },
    ];
    expect(events).toMatchObject([
      ...deltas.map((delta) => ({
        object: "chat.completion.chunk",
        usage: null,
        choices: [{ index: 0, delta, finish_reason: null }],
      })),
      { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
      { choices: [], usage },
      "[DONE]",
    ]);
    expect(openAiChat({ finishReason: null, done: false })).toHaveLength(1);
    const [bare = ""] = openAiChat({ lineEnd: "\r\n", space: false });
    expect(bare).toMatch(/^data:\{[^\r\n]*\}\r\n\r\n$/);
    expect(openAiErrorEvent("server_error", null)).toBe(`data: ${openAiError(500, "server_error", null).body}\n\n`);
  });

  test("Anthropic: blocks in order between message_start and message_stop, named events, errors of both kinds", () => {
    const blocks = [
      { type: "thinking", deltas: ["hm"], signature: "sig" },
      { type: "tool_use", id: "toolu_1", name: "look", partialJson: ["{}"] },
    ] as const;
    const events = anthropicMessages({ deltas: ["Hi"], blocks });
    const types = events.map((event) => /^event: (\w+)\n/.exec(event)?.[1]);
    expect(types).toEqual(
      [
        "message_start",
        ["content_block_start", "ping", "content_block_delta", "content_block_stop"],
        ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"],
        ["content_block_start", "content_block_delta", "content_block_stop"],
        ["message_delta", "message_stop"],
      ].flat(),
    );
    expect(payloads(events)).toMatchObject(types.map((type) => ({ type })));
    expect(payloads(events).at(-2)).toMatchObject({ type: "message_delta", delta: { stop_reason: "tool_use" } });
    expect(anthropicOverloaded().status).toBe(529);
    expect(anthropicOverloaded().body).toContain('"type":"overloaded_error"');
    expect(anthropicErrorEvent("overloaded_error")).toMatch(
      /^event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/,
    );
    expect(anthropicMessages({ stopReason: null, stop: false, eventLines: false, ping: false })[0]).toMatch(
      /^data: \{"type":"message_start"/,
    );
  });

  test("Ollama: one JSON object per line, tool calls whole, the last line says stop", () => {
    const lines = ollamaChat({ thinking: ["hm"], deltas: ["Hi"], toolCalls: [{ name: "look", arguments: { a: 1 } }] });
    expect(payloads(lines)).toMatchObject([
      { message: { thinking: "hm", content: "" }, done: false },
      { message: { content: "Hi" }, done: false },
      { message: { tool_calls: [{ function: { name: "look", arguments: { a: 1 } } }] }, done: false },
      { done: true, done_reason: "stop", prompt_eval_count: 12, eval_count: 7 },
    ]);
    expect(ollamaErrorLine("no")).toBe('{"error":"no"}\n');
  });

  test("what no provider documents but some send can be built too", () => {
    expect(openAiEvent(null, { space: false })).toBe("data:null\n\n");
    expect(sseComment("busy", { lineEnd: "\r" })).toBe(": busy\r\r");
    expect(payloads([openAiDelta({ role: "tool" }, {}, "abort")])).toMatchObject([
      { choices: [{ delta: { role: "tool" }, finish_reason: "abort" }] },
    ]);
    expect(openAiCompletion("Hi").body).toContain('"object":"chat.completion","created"');
    expect(anthropicEvent("vendor_hint", { a: 1 }, { lineEnd: "\r\n" })).toBe(
      'event: vendor_hint\r\ndata: {"type":"vendor_hint","a":1}\r\n\r\n',
    );
    expect(anthropicMessageStart({ id: "msg_2" })).toContain('"message":{"id":"msg_2"');
    expect(payloads([ollamaLine({ content: "Hi" }, { model: "m" })])).toMatchObject([{ model: "m", done: false }]);
  });

  test("an error answer arrives with its status, headers and body", async () => {
    provider.on(
      "/p",
      answerScript(openAiError(429, "rate_limit_error", "slow_down", { headers: { "retry-after": "2" } })),
    );
    const response = await fetch(`${provider.origin}/p`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await response.json()).toMatchObject({ error: { type: "rate_limit_error", code: "slow_down" } });
  });
});

describe("the command line", () => {
  test("serves what it prints, prints a configuration for it, and ends on SIGINT", async () => {
    const script = fileURLToPath(new URL("../support/fault-provider/cli.ts", import.meta.url));
    const child = spawn(process.execPath, [script, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    try {
      const lines: string[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(line);
        if (line.startsWith("Then name a target")) break;
      }
      const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(lines[0] ?? "")?.[0] ?? "";
      const config: unknown = JSON.parse(
        /CONFIG:'(.*)'$/.exec(lines.find((line) => line.startsWith("npx")) ?? "")?.[1] ?? "null",
      );
      const paths = lines.flatMap((line) => /^POST (\S+)/.exec(line)?.[1] ?? []);
      expect(paths).toHaveLength(33);
      expect(v.safeParse(configSchema, config).issues).toBeUndefined();
      expect(config).toMatchObject({ routes: { default: ["demo"], cut: ["openai-cut", "anthropic-healthy"] } });
      expect(JSON.stringify(config)).toContain(`"baseUrl":"${origin}/openai/cut"`);
      const answer = async (path: string): Promise<number> =>
        (await fetch(`${origin}${path}`, { method: "POST", body: "{}" })).status;
      expect([
        await answer("/openai/busy/chat/completions"),
        await answer("/anthropic/overloaded/v1/messages"),
        await answer("/ollama/down/api/chat"),
        await answer("/openai/html/chat/completions"),
      ]).toEqual([429, 529, 500, 200]);
      child.kill("SIGINT");
      expect(await exit).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
