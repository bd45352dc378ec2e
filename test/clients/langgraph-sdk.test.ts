// LangGraph's JavaScript SDK, unmodified, in the versions that DeerFlow clients run: threads, state, runs, streams, and a stream whose connection is cut.
import { Client as Client5 } from "langgraph-sdk-1-5";
import { Client as Client6 } from "langgraph-sdk-1-6";
import { Client as Client15 } from "langgraph-sdk-1-15";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { gives, inOrder, MODEL, says, toolPath } from "../support/agent-house.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import { openDeerHouse, textsOf, type DeerHouse, type Json } from "../support/deerflow.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";

let house: DeerHouse;
let proxy: CuttingProxy;

beforeAll(async () => {
  house = await openDeerHouse({ heartbeatMs: 200 });
  proxy = await startCuttingProxy(house.server.port);
});
afterEach(() => house.provider.reset());
afterAll(async () => {
  await proxy.stop();
  await house.stop();
});

const input = (content: string) => ({ messages: [{ role: "user", content }] });
const ASSISTANT = "lead_agent";
const pieces = Array.from({ length: 40 }, (_, index) => `${index} 北京🙂 `);

interface Part {
  event: string;
  data: unknown;
}

interface Start {
  input?: Json;
  command?: Json;
  streamMode?: ("values" | "messages-tuple")[];
  onDisconnect?: "continue";
  onRunCreated?: (run: { run_id: string }) => void;
}

/** What the versions have in common, as it is used here: their own types differ in what is generic. */
interface Sdk {
  threads: {
    create(fields?: { metadata?: Json }): Promise<{ thread_id: string }>;
    get(id: string): Promise<{ status: string; interrupts: Json }>;
    update(id: string, fields: { metadata: Json }): Promise<unknown>;
    search(query: { metadata: Json }): Promise<{ thread_id: string }[]>;
    updateState(id: string, update: { values: Json }): Promise<unknown>;
    getState(id: string, checkpoint?: Checkpoint): Promise<{ values: unknown; checkpoint: Checkpoint }>;
    getHistory(id: string, query: { limit: number }): Promise<{ checkpoint: Checkpoint }[]>;
    delete(id: string): Promise<void>;
  };
  runs: {
    stream(id: string, assistant: string, start: Start): AsyncIterable<Part>;
    joinStream(id: string, run: string, from: { lastEventId: string }): AsyncIterable<Part>;
    create(id: string, assistant: string, start: Start): Promise<{ run_id: string }>;
    wait(id: string, assistant: string, start: Pick<Start, "input" | "command">): Promise<unknown>;
    join(id: string, run: string): Promise<unknown>;
    get(id: string, run: string): Promise<{ status: string }>;
    list(id: string, query: { limit: number }): Promise<{ status: string }[]>;
    cancel(id: string, run: string, wait?: boolean): Promise<void>;
  };
}

interface Checkpoint {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string | null | undefined;
  checkpoint_map: Json | null | undefined;
}

const clients: readonly [string, (options: { apiUrl: string; apiKey: string }) => Sdk][] = [
  ["1.5.3", (options) => new Client5(options)],
  ["1.6.0", (options) => new Client6(options)],
  ["1.15.0", (options) => new Client15(options)],
];

/** What a client shows of the streamed pieces of messages: those of one id are put together. */
function shown(parts: readonly Part[]): string[] {
  const texts = new Map<string, string>();
  for (const { event, data } of parts) {
    if (event !== "messages" || !Array.isArray(data)) continue;
    const { id, content, type } = Object(data[0]);
    if (type === "AIMessageChunk") texts.set(id, (texts.get(id) ?? "") + content);
  }
  return [...texts.values()];
}

async function allOf<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const parts: T[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe.each(clients)("%s", (_, connect) => {
  const clientOf = (origin: string): Sdk => connect({ apiUrl: `${origin}/api`, apiKey: "any" });

  test("R-DFH-25 threads are made, read, searched and changed; their states are read", async () => {
    const client = clientOf(house.server.origin);
    const { thread_id: id } = await client.threads.create({ metadata: { mine: "yes" } });
    expect(await client.threads.get(id)).toMatchObject({ thread_id: id, status: "idle", metadata: { mine: "yes" } });
    await client.threads.update(id, { metadata: { more: 1 } });
    await expect
      .poll(async () =>
        (await client.threads.search({ metadata: { mine: "yes", more: 1 } })).map((one) => one.thread_id),
      )
      .toContain(id);
    await client.threads.updateState(id, { values: { messages: [{ type: "human", content: "Hi", id: "m" }] } });
    const state = await client.threads.getState(id);
    expect(textsOf(Object(state.values))).toEqual(["Hi"]);
    expect(state.checkpoint).toMatchObject({ thread_id: id, checkpoint_ns: "" });
    const history = await client.threads.getHistory(id, { limit: 1 });
    expect(history.map(({ checkpoint }) => checkpoint.checkpoint_id)).toEqual([state.checkpoint.checkpoint_id]);
    const earlier = await client.threads.getState(id, state.checkpoint);
    expect(earlier.checkpoint).toEqual(state.checkpoint);
    await client.threads.delete(id);
    await expect(client.threads.get(id)).rejects.toThrow(`Thread ${id} not found`);
  });

  test("R-DFH-25 a run is streamed, joined, listed, read and waited for, and every way tells the same", async () => {
    const client = clientOf(house.server.origin);
    const { thread_id: id } = await client.threads.create();
    house.provider.on(MODEL, inOrder(says("Hello."), says("Bye.")));
    let runId = "";
    const parts = await allOf(
      client.runs.stream(id, ASSISTANT, {
        input: input("Hi"),
        streamMode: ["values", "messages-tuple"],
        onDisconnect: "continue",
        onRunCreated: ({ run_id: created }) => {
          runId = created;
        },
      }),
    );
    expect(parts[0]).toMatchObject({ event: "metadata", data: { run_id: runId, thread_id: id } });
    expect(parts.every(({ event }) => event !== "")).toBe(true);
    expect(shown(parts)).toEqual(["Hello."]);
    expect(textsOf(Object(parts.findLast(({ event }) => event === "values")?.data))).toEqual(["Hi", "Hello."]);
    const joined = await allOf(client.runs.joinStream(id, runId, { lastEventId: "-1" }));
    expect(joined.map(({ event, data }) => ({ event, data }))).toEqual(
      parts.map(({ event, data }) => ({ event, data })),
    );
    expect(await client.runs.get(id, runId)).toMatchObject({ run_id: runId, thread_id: id, status: "success" });
    expect(textsOf(Object(await client.runs.wait(id, ASSISTANT, { input: input("And?") })))).toEqual([
      "Hi",
      "Hello.",
      "And?",
      "Bye.",
    ]);
    const runs = await client.runs.list(id, { limit: 10 });
    expect(runs.map((run) => run.status)).toEqual(["success", "success"]);
    expect(textsOf(Object(await client.runs.join(id, runId)))).toEqual(["Hi", "Hello."]);
  });

  test("R-DFH-25 a run in the background is cancelled; a cancel of one that has ended is a conflict", async () => {
    const client = clientOf(house.server.origin);
    const { thread_id: id } = await client.threads.create();
    const begun = openAiChat({ deltas: ["Once "], finishReason: null, done: false });
    house.provider.on(MODEL, streamScript(OPENAI_STREAM_TYPE, begun, { end: "hang" }));
    const { run_id: runId } = await client.runs.create(id, ASSISTANT, { input: input("Hi") });
    await expect(client.runs.create(id, ASSISTANT, { input: input("Hi") })).rejects.toThrow(
      `Thread ${id} already has an active run`,
    );
    await client.runs.cancel(id, runId, true);
    expect((await client.runs.get(id, runId)).status).toBe("interrupted");
    house.provider.on(MODEL, says("Done."));
    const { run_id: done } = await client.runs.create(id, ASSISTANT, { input: input("Hi") });
    await client.runs.join(id, done);
    await expect(client.runs.cancel(id, done)).rejects.toThrow("is not cancellable (status: success)");
  });

  test("R-DFH-25 an interrupted run is seen in the thread and gone on from", async () => {
    const client = clientOf(house.server.origin);
    const { thread_id: id } = await client.threads.create();
    house.provider.on(MODEL, inOrder(says("", [["w", "wipe"]]), says("Wiped.")));
    house.provider.on(toolPath("wipe"), gives("gone"));
    await client.runs.wait(id, ASSISTANT, { input: input("Hi") });
    const { interrupts, status } = await client.threads.get(id);
    expect([status, Object.values(interrupts).flat().length]).toEqual(["interrupted", 1]);
    const resume = { decisions: [{ toolCallId: "w", decision: "approve" }] };
    const values = await client.runs.wait(id, ASSISTANT, { command: { resume } });
    expect(textsOf(Object(values)).at(-1)).toBe("Wiped.");
  });

  test("R-DFH-25 a stream whose connection is cut goes on by itself, to the same text", async () => {
    const client = clientOf(proxy.origin);
    const { thread_id: id } = await client.threads.create();
    house.provider.on(MODEL, streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: pieces }), { delayMs: 50 }));
    const parts: Part[] = [];
    let cuts = 0;
    for await (const part of client.runs.stream(id, ASSISTANT, {
      input: input("Hi"),
      streamMode: ["values", "messages-tuple"],
    })) {
      parts.push(part);
      if (part.event === "messages" && cuts === 0 && parts.length > 5) cuts = proxy.cut();
    }
    expect(cuts).toBeGreaterThan(0);
    expect(shown(parts)).toEqual([pieces.join("")]);
    expect(textsOf(Object(parts.findLast(({ event }) => event === "values")?.data))).toEqual(["Hi", pieces.join("")]);
    expect(parts.filter(({ event }) => event === "metadata")).toHaveLength(1);
  });
});
