// How the console's chat follows a turn and keeps its token, against a scripted Sveda server on loopback: cuts, silence, refusals and repeats.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createSvedaApi, type SvedaApi } from "../../src/console/chat/sveda-api.ts";
import { svedaReader } from "../../src/console/chat/sveda-frames.ts";
import { followTurn, type Turn, type TurnNotice, type TurnStart } from "../../src/console/chat/turn.ts";
import { createVisitor } from "../../src/console/chat/visitor.ts";
import { textIn } from "../../src/console/fields.ts";
import type { ProviderCall } from "../support/fault-provider/call-log.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { errorScript, seededSplits, streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";

const TOKEN = "/sveda/embed/token";
const STREAM = "/sveda/stream";
const RUN = "/sveda/runs/sv_1";
const pauses = { first: 5, longest: 40, silence: 10_000 };

/** A browser's storage. */
const keeping = () => {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
};

const frame = (id: number, type: string, fields: Record<string, unknown> = {}): string =>
  `id: ${id}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const words = ["Grüße ", "aus ", "北京 ", "🙂 ", "and ", "back."];
const frames = [
  frame(1, "message.start", { messageId: "msg_sv_1", chatId: "c1" }),
  ...words.map((delta, at) => frame(at + 2, "text.delta", { delta })),
  frame(8, "message.end", { finishReason: "stop" }),
  "id: 9\ndata: [DONE]\n\n",
];
const stream = (events: readonly string[], options: StreamOptions = {}) =>
  streamScript("text/event-stream", events, {
    ...options,
    headers: { "x-run-id": "sv_1", location: RUN, ...options.headers },
  });
/** The frames after the cursor that the call names. */
const rest = ({ headers }: ProviderCall, to = frames.length): readonly string[] =>
  frames.slice(Number(headers["last-event-id"] ?? 0), to);

let server: FaultProvider;
let api: SvedaApi;
let turn: Turn | undefined;

/** What a browser would report as an uncaught error. */
const faults: unknown[] = [];

beforeEach(async () => {
  vi.stubGlobal("reportError", (fault: unknown) => faults.push(fault));
  server = await startFaultProvider();
  server.on(TOKEN, minted);
  api = createSvedaApi(server.origin, () => "", keeping(), keeping());
});
afterEach(async () => {
  turn?.close();
  await server.stop();
  vi.unstubAllGlobals();
  expect(faults).toEqual([]);
});

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  errorScript(status, headers, JSON.stringify(body));
const minted = json({ token: "sveda_embed_a.b", visitor_id: "v-1", expires_in: 3600 });

interface Following {
  notices: TurnNotice[];
  /** Resolves with the last notice, `done` or `refused`. */
  ended: Promise<TurnNotice>;
  until(kind: TurnNotice["kind"]): Promise<void>;
}

function follow(start: TurnStart, timing = pauses): Following {
  const notices: TurnNotice[] = [];
  const ended = Promise.withResolvers<TurnNotice>();
  const waiting: { kind: string; resolve: () => void }[] = [];
  turn = followTurn(
    api.send,
    start,
    (notice) => {
      notices.push(notice);
      for (const { kind, resolve } of waiting) if (kind === notice.kind) resolve();
      if (notice.kind === "done" || notice.kind === "refused") ended.resolve(notice);
    },
    timing,
  );
  const until = (kind: TurnNotice["kind"]) =>
    new Promise<void>((resolve) => {
      waiting.push({ kind, resolve });
    });
  return { notices, ended: ended.promise, until };
}

const ask: TurnStart = { kind: "ask", body: { body: { chatId: "c1", prompt: "Hi" }, identity: "user_ä 1" } };
const read: TurnStart = { kind: "read", runId: "sv_1" };
const textOf = (notices: readonly TurnNotice[]): string =>
  notices.map((notice) => (notice.kind === "event" ? (textIn(notice.event, "delta") ?? "") : "")).join("");
const kinds = (notices: readonly TurnNotice[]): string[] => notices.map(({ kind }) => kind);

describe("R-SVV-2 a turn", () => {
  test("is posted once, with its name, and read to its end", async () => {
    server.on(STREAM, stream(frames, { perPacket: 2 }));
    const { notices, ended } = follow(ask);
    expect(await ended).toEqual({ kind: "done" });
    expect(textOf(notices)).toBe(words.join(""));
    expect(notices[0]).toEqual({ kind: "accepted", runId: "sv_1" });
    const [call] = server.calls(STREAM);
    expect(server.calls(STREAM)).toHaveLength(1);
    expect(call?.headers).toMatchObject({
      "idempotency-key": "user_%C3%A4%201",
      "content-type": "application/json",
      "x-sveda-embed-token": "sveda_embed_a.b",
    });
    expect(JSON.parse(call?.body ?? "")).toEqual({ chatId: "c1", prompt: "Hi" });
  });

  test.each(["rst", "fin", "clean"] as const)(
    "that is cut after each frame by a %s is read on, without gap or repeat, and never posted again",
    async (end) => {
      server.on(STREAM, stream(frames.slice(0, 1), { end }));
      server.on(RUN, (call) => stream(rest(call, Number(call.headers["last-event-id"] ?? 0) + 1), { end }));
      const { notices, ended } = follow(ask);
      expect(await ended).toEqual({ kind: "done" });
      expect(textOf(notices)).toBe(words.join(""));
      expect(server.calls(STREAM)).toHaveLength(1);
      expect(server.calls(RUN).map(({ headers }) => headers["last-event-id"])).toEqual(
        Array.from({ length: frames.length - 1 }, (_, at) => String(at + 1)),
      );
    },
  );

  test("that is cut inside of a frame gets that frame again, whole", async () => {
    const half = frames.slice(0, 3).join("").slice(0, -9);
    server.on(STREAM, stream([half], { end: "fin" }));
    server.on(RUN, (call) => stream(rest(call)));
    const { notices, ended } = follow(ask);
    await ended;
    expect(textOf(notices)).toBe(words.join(""));
    expect(server.calls(RUN).map(({ headers }) => headers["last-event-id"])).toEqual(["2"]);
  });

  test("whose beginning is not answered is posted again as the same turn", async () => {
    server.on(STREAM, (_call, index) => (index < 2 ? [{ step: "rst" }] : stream(frames)));
    const { notices, ended } = follow(ask);
    expect(await ended).toEqual({ kind: "done" });
    expect(kinds(notices).slice(0, 3)).toEqual(["lost", "lost", "accepted"]);
    const calls = server.calls(STREAM);
    expect(calls).toHaveLength(3);
    expect(new Set(calls.map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`)).size).toBe(1);
  });

  test("waits longer after each failure, to a limit, and from the beginning once something has arrived", async () => {
    const cut: readonly [{ step: "rst" }] = [{ step: "rst" }];
    server.on(STREAM, stream(frames.slice(0, 2), { end: "fin" }));
    server.on(RUN, (call, index) => {
      if (index === 5) return stream(rest(call, 4), { end: "fin" });
      return index < 7 ? cut : stream(rest(call));
    });
    const { notices, ended } = follow(ask);
    await ended;
    const waits = notices.flatMap((notice) => (notice.kind === "lost" ? [notice.retryInMs] : []));
    expect(waits).toEqual([5, 10, 20, 40, 40, 40, 5, 10]);
    expect(textOf(notices)).toBe(words.join(""));
  });

  test("goes on when the server is ill for a moment, once it has taken the turn", async () => {
    server.on(STREAM, stream(frames.slice(0, 3), { end: "fin" }));
    server.on(RUN, (call, index) => (index < 2 ? errorScript(index === 0 ? 503 : 429, {}, "") : stream(rest(call))));
    const { notices, ended } = follow(ask);
    expect(await ended).toEqual({ kind: "done" });
    expect(textOf(notices)).toBe(words.join(""));
  });

  test("that says nothing, not even by a heartbeat, is asked for again", async () => {
    server.on(STREAM, stream(frames.slice(0, 3), { end: "hang" }));
    server.on(RUN, (call) => stream([": hb\n", ...rest(call)]));
    const { notices, ended } = follow(ask, { ...pauses, silence: 100 });
    expect(await ended).toEqual({ kind: "done" });
    expect(kinds(notices)).toContain("lost");
    expect(textOf(notices)).toBe(words.join(""));
  });

  test("that runs already is only read", async () => {
    server.on(RUN, (call) => stream(rest(call)));
    const { notices, ended } = follow(read);
    expect(await ended).toEqual({ kind: "done" });
    expect(textOf(notices)).toBe(words.join(""));
    expect(server.calls(STREAM)).toHaveLength(0);
    expect(server.calls(RUN)[0]?.headers).not.toHaveProperty("last-event-id");
  });

  test("that is closed is left alone", async () => {
    server.on(STREAM, stream(frames, { gateBefore: { index: 4, name: "more" } }));
    const { notices, until } = follow(ask);
    await until("event");
    turn?.close();
    const seen = notices.length;
    server.open("more");
    const [call] = server.calls(STREAM);
    await call?.closed;
    expect(notices).toHaveLength(seen);
    expect(server.calls(RUN)).toHaveLength(0);
  });
});

describe("R-SVV-7 a refusal", () => {
  test.each<[number, Record<string, string>, string, Record<string, unknown>]>([
    [409, {}, '{"message":"Tool confirmation is required."}', { message: "Tool confirmation is required." }],
    [
      422,
      { "content-type": "text/plain; charset=utf-8" },
      "prompt must be a string",
      { message: "prompt must be a string" },
    ],
    [429, { "retry-after": "7" }, '{"message":"Too Many Attempts."}', { retryAfterMs: 7000 }],
    [404, {}, "", { message: "" }],
    [503, { "content-type": "text/html" }, "<h1>down</h1>", { message: "" }],
  ])("%s of a new turn ends it with the server's words", async (status, headers, body, problem) => {
    server.on(STREAM, errorScript(status, headers, body));
    expect(await follow(ask).ended).toMatchObject({ kind: "refused", problem: { status, ...problem } });
    expect(server.calls(STREAM)).toHaveLength(1);
  });

  test("of a run that is not there any more ends the reading", async () => {
    server.on(RUN, errorScript(404, {}, ""));
    expect(await follow(read).ended).toMatchObject({ kind: "refused", problem: { status: 404 } });
    expect(server.calls(RUN)).toHaveLength(1);
  });
});

describe("R-SVV-8 the token", () => {
  test("is made once for all who ask, with the key; everything else is asked with it", async () => {
    const tab = keeping();
    const keyed = createSvedaApi(server.origin, () => "the-key", tab, keeping());
    server.on("/sveda/chat-histories", json({ histories: [] }));
    server.on("/sveda/embed/config", json({ models: [] }));
    const answers = await Promise.all([keyed.histories(), keyed.config(), keyed.histories()]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(server.calls(TOKEN).map(({ headers }) => headers["x-sveda-host-key"])).toEqual(["the-key"]);
    for (const { headers } of server.calls("/sveda/chat-histories")) {
      expect(headers["x-sveda-embed-token"]).toBe("sveda_embed_a.b");
      expect(JSON.stringify(headers)).not.toContain("the-key");
    }
    // After a reload.
    await createSvedaApi(server.origin, () => "the-key", tab, keeping()).histories();
    expect(server.calls(TOKEN)).toHaveLength(1);
  });

  test("that is refused is made anew, once, for the same visitor", async () => {
    server.on(TOKEN, (_call, index) => json({ token: `sveda_embed_${index}`, visitor_id: "v-1", expires_in: 3600 }));
    server.on(STREAM, (call) => (call.headers["x-sveda-embed-token"] === "sveda_embed_1" ? stream(frames) : refused));
    const refused = errorScript(401, {}, "");
    expect(await follow(ask).ended).toEqual({ kind: "done" });
    expect(server.calls(TOKEN).map(({ body }) => JSON.parse(body))).toEqual([{}, { visitor_id: "v-1" }]);
    server.on(STREAM, refused);
    expect(await follow(ask).ended).toMatchObject({ kind: "refused", problem: { status: 401 } });
  });

  test("that nears its end is made anew", async () => {
    const [tab, browser] = [keeping(), keeping()];
    let at = 1_000_000;
    const mint = vi.fn(async () => ({
      ok: true as const,
      value: { token: `t-${at}`, visitor_id: "v", expires_in: 600 },
    }));
    const visitor = createVisitor(mint, tab, browser, () => at);
    expect(await visitor.token()).toEqual({ ok: true, value: "t-1000000" });
    at += 500_000;
    expect(await visitor.token()).toEqual({ ok: true, value: "t-1000000" });
    at += 50_000;
    expect(await visitor.token()).toEqual({ ok: true, value: "t-1550000" });
    visitor.forget("another");
    expect(await visitor.token()).toMatchObject({ value: "t-1550000" });
    visitor.forget();
    await visitor.token();
    expect(mint.mock.calls).toEqual([[{}], [{ visitor_id: "v" }], [{ visitor_id: "v" }]]);
  });

  test("that is not given is a refusal in the server's words, and asked for again next time", async () => {
    server.on(TOKEN, (_call, index) => (index === 0 ? json({ message: "unknown policy" }, 422) : minted));
    server.on(STREAM, stream(frames));
    expect(await follow(ask).ended).toMatchObject({
      kind: "refused",
      problem: { status: 422, message: "unknown policy" },
    });
    expect(await follow(ask).ended).toEqual({ kind: "done" });
  });
});

test("R-SVV-9 chats are listed, read, renamed and deleted by their names, whatever these hold", async () => {
  const path = "/sveda/chat-histories/a%2Fb%20%C3%A4";
  server.on("/sveda/chat-histories", json({ histories: [{ id: "x" }] }));
  server.on(path, ({ method }) => (method === "GET" ? json({ history: { title: "T" } }) : json({ success: true })));
  expect(await api.histories()).toEqual({ ok: true, value: { histories: [{ id: "x" }] } });
  expect(await api.history("a/b ä")).toEqual({ ok: true, value: { title: "T" } });
  expect(await api.rename("a/b ä", "New")).toMatchObject({ ok: true });
  expect(await api.remove("a/b ä")).toMatchObject({ ok: true });
  expect(server.calls(path).map(({ method, body }) => [method, body])).toEqual([
    ["GET", ""],
    ["PATCH", '{"title":"New"}'],
    ["DELETE", ""],
  ]);
});

test("R-SVV-6 a run is cancelled by its name", async () => {
  server.on(`${RUN}/cancel`, json({ success: true }));
  expect(await api.cancel("sv_1")).toMatchObject({ ok: true });
  expect(server.calls(`${RUN}/cancel`)).toMatchObject([{ method: "POST", body: "{}" }]);
});

describe("R-SVV-1 the frames of a stream", () => {
  const wire = [
    "retry: 1000\n",
    ": hb\n",
    ...frames.slice(0, 3),
    'event: other\r\ndata: {"type":"context.usage"}\r\n\r\n',
    "data: {broken\n\n",
    'data: ["no", "event"]\n\n',
    'data: {"no":"type"}\n\n',
    ...frames.slice(-1),
  ].join("");
  const readIn = (packets: readonly Uint8Array[]) => {
    const reader = svedaReader();
    return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
  };
  const bytes = new TextEncoder().encode(wire);

  test("are the same however they are split", () => {
    const whole = readIn([bytes]);
    expect(whole).toMatchObject([
      { kind: "event", id: "1", type: "message.start" },
      { kind: "event", id: "2", type: "text.delta", event: { delta: "Grüße " } },
      { kind: "event", id: "3", type: "text.delta" },
      { kind: "event", id: undefined, type: "context.usage" },
      { kind: "done", id: "9" },
    ]);
    expect(readIn(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
    for (let seed = 0; seed < 20; seed++) {
      expect(readIn(seededSplits(bytes, seed, 12))).toEqual(whole);
    }
  });

  test("end without a word when the connection breaks inside of one", () => {
    const reader = svedaReader();
    expect(reader.feed(bytes.subarray(0, bytes.length - 1)).at(-1)).not.toMatchObject({ kind: "done" });
    expect(reader.end()).toEqual([]);
  });
});
