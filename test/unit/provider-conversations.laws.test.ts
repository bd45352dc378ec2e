// Conversations as the agent loop makes them, for every format: what a provider demands of roles, results, ids and names holds
// in the request, whatever the ids, names, texts and outputs are.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { Message } from "../../schemas/run.ts";
import { adapters } from "../../src/providers/index.ts";
import { asArray, asRecord, type JsonRecord } from "../../src/wire/json.ts";

const target = (fields: Partial<Target>): Target => ({
  id: "t",
  adapter: "openai-chat",
  baseUrl: "https://api.example/v1",
  model: "m-1",
  ...fields,
});

function bodyOf(messages: Message[], at: Target): JsonRecord {
  const request = { schemaVersion: "1.0" as const, task: { kind: "text_to_text" as const }, messages };
  const body: unknown = JSON.parse(adapters[at.adapter].request(request, at, undefined).body);
  return asRecord(body) ?? {};
}

const recordsOf = (list: unknown): JsonRecord[] => asArray(list).map((item) => asRecord(item) ?? {});
/** The objects among these. */
const present = (values: readonly unknown[]): JsonRecord[] =>
  values.flatMap((value) => {
    const record = asRecord(value);
    return record === undefined ? [] : [record];
  });
const texts = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === "string");

const id = fc.oneof(
  fc.constantFrom("c", "call_0", "call_0.2", "toolu_01", "functions.look:0", "D681PevKs", "000000001", "x".repeat(90)),
  fc.constantFrom(`${"x".repeat(40)}a`, `${"x".repeat(40)}b`, `${"y".repeat(64)}é`, "世界", "🎉", " ", "c_2", "a b"),
);
const name = fc.constantFrom("look", "functions.look", "made up", "世", "n".repeat(80), "look_up-2");
const text = fc.constantFrom("Let me look.", " ", "\n\n", "é✓🎉", "So. ");
const output = fc.constantFrom<unknown>("ok", "", null, 0, false, [], {}, { deep: [{ a: "é" }] }, [1, "b"]);
const call = fc.record({ toolCallId: id, toolName: name, input: fc.constantFrom({}, { at: "世" }) });

/** A model's turn and what came of its calls: ids are unique within a run, and may come again in a later one. */
const round = fc
  .record({
    said: fc.option(text, { nil: undefined }),
    calls: fc.uniqueArray(call, { selector: ({ toolCallId }) => toolCallId, minLength: 1, maxLength: 3 }),
    outputs: fc.array(fc.tuple(output, fc.boolean()), { minLength: 3, maxLength: 3 }),
  })
  .map(({ said, calls, outputs }): Message[] => [
    { role: "assistant", ...(said !== undefined && { content: said }), toolCalls: calls },
    ...calls.map(({ toolCallId }, index): Message => {
      const [value, failed] = outputs[index] ?? [null, false];
      return { role: "tool", toolCallId, output: value, ...(failed && { isError: true }) };
    }),
  ]);
const interlude = fc.constantFrom<Message[]>(
  [],
  [{ role: "user", content: "And now?" }],
  [
    { role: "assistant", content: "Done." },
    { role: "user", content: "Again." },
  ],
  [
    { role: "user", content: "And now?" },
    { role: "system", content: "Be brief." },
  ],
);
const conversation = fc
  .array(fc.tuple(round, interlude), { minLength: 1, maxLength: 4 })
  .map((rounds): Message[] => [{ role: "user", content: "Look." }, ...rounds.flat(2)]);

const judge = (at: Target, holds: (body: JsonRecord, messages: Message[]) => void): void =>
  fc.assert(
    fc.property(conversation, (messages) => holds(bodyOf(messages, at), messages)),
    { numRuns: 300 },
  );

const word = /^[A-Za-z0-9_-]{1,64}$/;
const callsOf = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));

describe.each([
  ["anthropic-messages", (block: JsonRecord) => (block["type"] === "tool_use" ? block : undefined)],
  ["bedrock-converse", (block: JsonRecord) => asRecord(block["toolUse"])],
] as const)("R-PROV-31 %s", (adapter, useOf) => {
  const resultOf = (block: JsonRecord): unknown =>
    adapter === "anthropic-messages" ? block["tool_use_id"] : asRecord(block["toolResult"])?.["toolUseId"];
  const idOf = (use: JsonRecord): unknown => use["id"] ?? use["toolUseId"];

  test("roles alternate, results come first and all in the next turn, ids are words and no two alike, no text is blank", () => {
    judge(target({ adapter }), (body, messages) => {
      const turns = recordsOf(body["messages"]);
      const seen: unknown[] = [];
      let due: unknown[] = [];
      for (const [index, { role, content }] of turns.entries()) {
        expect(role).toBe(index % 2 === 0 ? "user" : "assistant");
        const blocks = recordsOf(content);
        expect(blocks.length).toBeGreaterThan(0);
        expect(blocks.slice(0, due.length).map(resultOf)).toEqual(due);
        expect(blocks.slice(due.length).map(resultOf).filter(Boolean)).toEqual([]);
        for (const { text: said } of blocks) if (typeof said === "string") expect(said.trim()).not.toBe("");
        const uses = present(blocks.map(useOf));
        due = uses.map(idOf);
        seen.push(...due);
        for (const { name: called } of uses) expect(called).toMatch(word);
      }
      expect(due).toEqual([]);
      expect(seen).toHaveLength(callsOf(messages).length);
      expect(new Set(seen).size).toBe(seen.length);
      for (const one of texts(seen)) expect(one).toMatch(word);
    });
  });
});

test("R-PROV-31 bedrock-converse declares the tools under the names that the calls have", () => {
  judge(target({ adapter: "bedrock-converse" }), (body) => {
    const tools = recordsOf(asRecord(body["toolConfig"])?.["tools"]).map(
      ({ toolSpec }) => asRecord(toolSpec)?.["name"],
    );
    const used = recordsOf(body["messages"]).flatMap(({ content }) =>
      recordsOf(content).flatMap(({ toolUse }) => asRecord(toolUse)?.["name"] ?? []),
    );
    expect(new Set(tools)).toEqual(new Set(used));
    expect(tools).toHaveLength(new Set(tools).size);
  });
});

test("R-PROV-31 anthropic-messages declares tools that the request has forgotten, and has none called", () => {
  judge(target({ adapter: "anthropic-messages" }), (body) => {
    const used = recordsOf(body["messages"]).flatMap(({ content }) =>
      recordsOf(content).flatMap(({ type, name: called }) => (type === "tool_use" ? [called] : [])),
    );
    expect(recordsOf(body["tools"]).map((declared) => declared["name"])).toEqual([...new Set(used)]);
    expect(body["tool_choice"]).toEqual({ type: "none" });
  });
});

test("R-PROV-31 gemini: results of all calls, and nothing else, in the turn behind them, under their ids and names", () => {
  judge(target({ adapter: "gemini" }), (body) => {
    let due: unknown[] = [];
    for (const { role, parts } of recordsOf(body["contents"])) {
      const all = recordsOf(parts);
      expect(all.length).toBeGreaterThan(0);
      const named = (kind: string) => present(all.map((part) => part[kind]));
      const identity = (part: JsonRecord) => [part["id"], part["name"]];
      const results = named("functionResponse");
      expect(results.map(identity)).toEqual(due);
      if (due.length > 0) expect(all).toHaveLength(due.length);
      const calls = named("functionCall");
      if (calls.length > 0) expect(role).toBe("model");
      for (const { name: called } of calls) expect(called).toMatch(word);
      for (const { response } of results) expect(asRecord(response)).toBeDefined();
      due = calls.map(identity);
    }
    expect(due).toEqual([]);
  });
});

const chats: readonly (readonly [Partial<Target>, RegExp])[] = [
  [{ preset: "openai" }, /^[^]{1,40}$/],
  [{ preset: "azure" }, /^[^]{1,40}$/],
  [{ preset: "mistral" }, /^[A-Za-z0-9]{9}$/],
  [{ preset: "deepseek" }, /^[^]+$/],
  [{ preset: "openrouter" }, /^[^]+$/],
  [{ preset: "vllm" }, /^[^]+$/],
  [{ adapter: "workers-ai" }, /^[^]+$/],
  [{ adapter: "cohere" }, /^[^]+$/],
];

test.each(chats)(
  "R-PROV-31 %j: a result per call directly behind it, ids that %s, names that are words",
  (fields, ids) => {
    judge(target(fields), (body, messages) => {
      let due: unknown[] = [];
      for (const message of recordsOf(body["messages"])) {
        const { role, tool_calls: called, content } = message;
        if (due.length > 0) {
          expect([role, message["tool_call_id"], typeof content]).toEqual(["tool", due.shift(), "string"]);
          continue;
        }
        expect(role).not.toBe("tool");
        const calls = recordsOf(called);
        due = calls.map((one) => one["id"]);
        expect(new Set(due).size).toBe(due.length);
        for (const one of texts(due)) expect(one).toMatch(ids);
        for (const one of calls) expect(asRecord(one["function"])?.["name"]).toMatch(word);
      }
      expect(due).toEqual([]);
      expect(JSON.stringify(body).split('"tool_call_id"')).toHaveLength(callsOf(messages).length + 1);
    });
  },
);

test("R-PROV-31 openai-responses: an output per call behind it, ids of at most 64 characters", () => {
  judge(target({ adapter: "openai-responses" }), (body, messages) => {
    let open: unknown[] = [];
    let answered = 0;
    for (const item of recordsOf(body["input"])) {
      const { type, call_id: callId, output: value } = item;
      if (type === "function_call_output") {
        expect([callId, typeof value]).toEqual([open.shift(), "string"]);
        answered++;
        continue;
      }
      if (type !== "function_call") expect(open).toEqual([]);
      else {
        open = [...open, callId];
        expect(callId).toMatch(/^[^]{1,64}$/);
        expect(item["name"]).toMatch(word);
      }
      for (const { text: said } of recordsOf(item["content"]))
        if (typeof said === "string") expect(said.trim()).not.toBe("");
    }
    expect(open).toEqual([]);
    expect(answered).toBe(callsOf(messages).length);
  });
});

test("R-PROV-31 ollama: a result names its call and its tool as they are", () => {
  judge(target({ adapter: "ollama" }), (body, messages) => {
    const sent = recordsOf(body["messages"]).filter(({ role }) => role === "tool");
    expect(sent.map((message) => [message["tool_name"], message["tool_call_id"]])).toEqual(
      callsOf(messages).map(({ toolName, toolCallId }) => [toolName, toolCallId]),
    );
  });
});

test.each([
  target({ adapter: "anthropic-messages" }),
  target({ adapter: "bedrock-converse" }),
  target({ preset: "openai" }),
  target({ preset: "mistral" }),
  target({ adapter: "openai-responses" }),
])("R-PROV-31 a longer conversation gives the same beginning: $adapter $preset", (at) => {
  const listOf = (messages: Message[]): unknown[] => {
    const body = bodyOf(messages, at);
    return [...asArray(body["messages"] ?? body["input"])];
  };
  fc.assert(
    fc.property(conversation, round, (messages, more) => {
      const first = listOf([...messages, { role: "user", content: "Go on." }]);
      const longer = listOf([...messages, { role: "user", content: "Go on." }, ...more]);
      expect(longer.slice(0, first.length)).toEqual(first);
    }),
  );
});
