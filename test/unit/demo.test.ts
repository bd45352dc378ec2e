// The embedded target: bytes of a real provider from inside the Worker, and what each of its models does.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { decideMessages } from "../../src/kebab/decide.ts";
import { decomposeMessages, subQuestions } from "../../src/kebab/decompose.ts";
import { demo, isDemoModel } from "../../src/providers/demo.ts";
import { sumUp, type Reading } from "../support/corpus/reading.ts";

const targetOf = (model?: string): Target => ({ id: "demo", adapter: "demo", ...(model !== undefined && { model }) });

async function respond(
  model: string | undefined,
  signal: AbortSignal = new AbortController().signal,
  fields: Partial<StartRequest> = { prompt: "Hi" },
): Promise<Response> {
  const target = targetOf(model);
  const built = demo.request({ schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields }, target, undefined);
  const response = await demo.respond?.(built, target, signal, {});
  if (!(response instanceof Response)) throw new Error("the demo target does not answer");
  return response;
}

async function readBody(response: Response): Promise<ProviderEvent[]> {
  const reader = demo.reader({ maxEvent: 100_000 });
  const events: ProviderEvent[] = [];
  for await (const packet of response.body ?? []) events.push(...reader.feed(packet));
  return [...events, ...reader.end()];
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("R-CONF-2 the demo target", () => {
  test.each([[undefined], ["demo-answer"], ["demo-slow"], ["a name it does not know"]])(
    "%s answers in the provider's own format, and completes",
    async (model) => {
      const response = await respond(model);
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      const body = readBody(response);
      await vi.runAllTimersAsync();
      const events = await body;
      const reading = sumUp(events);
      expect(reading.verdicts).toEqual([{ type: "verdict", verdict: "complete", stopReason: "stop" }]);
      expect(reading.text).toMatch(/^This is the embedded demo target\. .* ✓$/);
      const words = events.filter(({ type }) => type === "text").length;
      expect(words).toBeGreaterThan(50);
      expect(reading.usage).toEqual({ inputTokens: 12, outputTokens: words, totalTokens: 12 + words });
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("demo-busy answers 429 with a hint", async () => {
    const response = await respond("demo-busy");
    expect(response.status).toBe(429);
    const answer = { status: response.status, headers: response.headers, body: await response.text(), now: 0 };
    expect(demo.failure(answer)).toEqual({
      failureClass: "rate_limited",
      message: "The provider is limiting the rate of requests (HTTP 429).",
      httpStatus: 429,
      providerCode: "rate_limit_exceeded",
      retryAfterMs: 2000,
    });
  });

  test("demo-cut stops after some words: truncated", async () => {
    const body = readBody(await respond("demo-cut"));
    await vi.runAllTimersAsync();
    const reading = sumUp(await body);
    expect(reading.verdicts).toEqual([{ type: "verdict", verdict: "truncated" }]);
    expect(reading.text).toMatch(/^This is the embedded demo target\. /);
  });

  test("R-CANCEL-2 demo-silent shows nothing, and ends when it is aborted", async () => {
    const abort = new AbortController();
    const reader = (await respond("demo-silent", abort.signal)).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"role":"assistant"');
    const silence = reader?.read();
    const settled = vi.fn<() => void>();
    silence?.then(settled, settled);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(settled).not.toHaveBeenCalled();
    abort.abort();
    await expect(silence).rejects.toMatchObject({ name: "AbortError" });
  });

  test.each(["demo-answer", "demo-slow", "demo-cut"])(
    "R-CANCEL-2 %s ends when it is aborted, and leaves no timer",
    async (model) => {
      const abort = new AbortController();
      const reader = (await respond(model, abort.signal)).body?.getReader();
      await reader?.read();
      const next = reader?.read();
      // The stream is asked in a later turn of the event loop than the read.
      await vi.advanceTimersByTimeAsync(1);
      expect(vi.getTimerCount()).toBe(1);
      abort.abort();
      await expect(next).rejects.toMatchObject({ name: "AbortError" });
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test.each(["demo-answer", "demo-silent"])(
    "R-CANCEL-2 %s that is aborted before it began sends no word and leaves no timer",
    async (model) => {
      const reader = (await respond(model, AbortSignal.abort())).body?.getReader();
      await expect(async () => {
        for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
          expect(new TextDecoder().decode(read.value)).toContain('"role"');
        }
      }).rejects.toMatchObject({ name: "AbortError" });
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("R-CANCEL-2 a reader that leaves after the abort meets no error", async () => {
    const abort = new AbortController();
    const reader = (await respond("demo-answer", abort.signal)).body?.getReader();
    await reader?.read();
    abort.abort();
    await expect(reader?.cancel()).resolves.toBeUndefined();
    await vi.runAllTimersAsync();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("R-CONF-2 with numbered sources the demo target", () => {
  const said = async (messages: Message[], model?: string): Promise<string> => {
    const body = readBody(await respond(model, undefined, { messages }));
    await vi.runAllTimersAsync();
    return sumUp(await body).text;
  };
  const say = (content: string, model?: string): Promise<string> => said([{ role: "user", content }], model);
  const sources = (...texts: string[]): string =>
    `Sources:\n\n${texts.map((text, at) => `[#${at + 1}] source= doc=a.md\n${text}`).join("\n\n")}\n\nQuestion: What is it?`;

  test.each([
    ["# A lamp\n\nThe lamp burns *all* night.\n- It needs oil.", "The lamp burns *all* night. It needs oil."],
    ["A sentence of the keeper. ".repeat(20), "A sentence of the keeper. ".repeat(10).trim()],
    ["word ".repeat(100), `${"word ".repeat(56).trim()}…`],
    ["# Only a heading", "# Only a heading"],
  ])("quotes the first one and cites it: %j", async (text, quoted) => {
    const answer = await say(sources(text, "Another one."));
    expect(answer).toMatch(/I do not think, I quote\..*\[#1\]$/);
    expect(answer.slice(answer.indexOf("“") + 1, answer.indexOf("”"))).toBe(quoted);
  });

  test("asked in several steps it looks for the question as it is, once", async () => {
    const before = { question: "What is lit?", answer: "A lamp." };
    for (const asked of [{ question: "What\n\nQuestion: of it?" }, { question: "And when?", before }]) {
      const split = await said(decomposeMessages(asked));
      expect(subQuestions(split)).toEqual([asked.question]);
      expect(await said(decideMessages(asked, [asked.question], []))).toBe("[]");
    }
  });

  test("says what it always says where there is none", async () => {
    for (const text of ["Sources:\n\nQuestion: What?", "What are Sources:\n[#1] x\ny"]) {
      expect(await say(text)).toMatch(/^This is the embedded demo target/);
    }
  });
});

describe("R-CONF-2 demo-tools", () => {
  const tool = (
    name: string,
    properties: Record<string, unknown> = {},
    required: string[] = Object.keys(properties),
  ) => ({
    name,
    description: `Does ${name}.`,
    parameters: { type: "object", properties, required },
  });
  const say = async (fields: Partial<StartRequest>): Promise<Reading> => {
    const body = readBody(await respond("demo-tools", undefined, fields));
    await vi.runAllTimersAsync();
    return sumUp(await body);
  };
  const asked = (content: string): Message[] => [{ role: "user", content }];

  test("thinks, says so, and calls the first tool with what its schema asks for", async () => {
    const reading = await say({
      messages: asked("Hi"),
      tools: [
        tool("take_note", {
          text: { type: "string" },
          count: { type: "integer" },
          from: { type: "number", minimum: 2.5 },
          urgent: { type: "boolean" },
          size: { enum: ["small", "large"] },
          kind: { const: "note" },
          place: { type: ["string", "null"], default: "here" },
          tags: { type: "array", items: { type: "string" } },
          nothing: { type: "null" },
          inner: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] },
          anything: {},
        }),
        tool("other"),
      ],
    });
    expect(reading.reasoning).toMatch(/take_note/);
    expect(reading.text).toBe("I will call take_note for you.");
    expect(reading.calls).toEqual([
      {
        toolCallId: "call_demo_1",
        toolName: "take_note",
        input: {
          text: "demo",
          count: 1,
          from: 2.5,
          urgent: true,
          size: "small",
          kind: "note",
          place: "here",
          tags: [],
          nothing: null,
          inner: { a: "demo" },
          anything: "demo",
        },
        // For servers that want it; this one does not.
        echo: { reasoning_content: reading.reasoning },
      },
    ]);
    expect(reading.verdicts).toEqual([{ type: "verdict", verdict: "complete", stopReason: "tool_calls" }]);
  });

  test("calls the tool, and takes the word, that the text names; leaves out what is not required", async () => {
    const color = { color: { enum: ["teal", "amber"] }, note: { type: "string" } };
    const reading = await say({
      prompt: "Change the accent to Amber.",
      tools: [tool("get_local_time"), tool("change_accent_color", color, ["color"])],
    });
    expect(reading.calls).toMatchObject([{ toolName: "change_accent_color", input: { color: "amber" } }]);
  });

  test("tells of the result that came last, and calls nothing more", async () => {
    const called = (toolCallId: string) => ({ toolCallId, toolName: "look_up", input: {} });
    const reading = await say({
      messages: [
        ...asked("Look it up."),
        { role: "assistant", toolCalls: [called("call_demo_1")] },
        { role: "tool", toolCallId: "call_demo_1", output: { found: "a lamp" } },
      ],
      tools: [tool("look_up")],
    });
    expect(reading.text).toContain('{"found":"a lamp"}');
    expect(reading.calls).toEqual([]);
    expect(reading.verdicts).toMatchObject([{ stopReason: "stop" }]);
  });

  test("gives each call of a conversation another id, and shortens a long result", async () => {
    const called = { toolCallId: "call_demo_1", toolName: "look_up", input: {} };
    const so_far: Message[] = [
      ...asked("Look it up."),
      { role: "assistant", toolCalls: [called] },
      { role: "tool", toolCallId: "call_demo_1", output: "x".repeat(1000) },
    ];
    const tools = [tool("look_up")];
    expect((await say({ messages: so_far, tools })).text.length).toBeLessThan(300);
    expect((await say({ messages: [...so_far, ...asked("Again.")], tools })).calls).toMatchObject([
      { toolCallId: "call_demo_2" },
    ]);
  });

  test.each<[string, Partial<StartRequest>, string | undefined]>([
    ["none is offered", {}, undefined],
    ["none may be called", { tools: [tool("first")], toolChoice: "none" }, undefined],
    ["one is demanded", { tools: [tool("first"), tool("second")], toolChoice: { name: "second" } }, "second"],
  ])("where %s", async (_case, fields, called) => {
    const reading = await say({ prompt: "Hi", ...fields });
    expect(reading.text).not.toBe("");
    expect(reading.calls.map(({ toolName }) => toolName)).toEqual(called === undefined ? [] : [called]);
  });
});

test("R-CONF-2 the models it knows", () => {
  const known = ["demo-answer", "demo-slow", "demo-cut", "demo-silent", "demo-busy", "demo-tools"];
  expect(known.map(isDemoModel)).toEqual(known.map(() => true));
  expect(["", "demo", "toString", "__proto__"].map(isDemoModel)).toEqual([false, false, false, false]);
});
