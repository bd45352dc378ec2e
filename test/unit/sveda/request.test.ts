// What is read out of a Sveda request: the prompt, the conversation before it, what a page shows, tools, decisions, and by what a repeat is known.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readTurn, type SvedaTurn } from "../../../src/dialects/sveda-request.ts";

function read(body: unknown, key?: string): SvedaTurn {
  const reading = readTurn(body, key);
  if (!reading.ok) throw new Error(`${reading.path} ${reading.message}`);
  return reading.turn;
}

const faultOf = (body: unknown): string | undefined => {
  const reading = readTurn(body, undefined);
  return reading.ok ? undefined : reading.path;
};

const user = (content: string, id = "u1") => ({ id, role: "user", content, parts: [{ type: "text", text: content }] });
const filler = { type: "reasoning", text: "." };
const callPart = { type: "tool-call", toolCallId: "t1", toolName: "get", target: "backend", input: { page: 1 } };
const resultPart = { type: "tool-result", toolCallId: "t1", toolName: "get", output: { n: 1 } };
const callEntry = { id: "t1", function: { name: "get", arguments: '{"page":1}' }, execution: "server" };
const resultEntry = { role: "tool", content: '{"n":1}', tool_call_id: "t1" };

describe("R-SV-8 the prompt", () => {
  const answer = { id: "a1", role: "assistant", content: "Hello", parts: [filler, { type: "text", text: "Hello" }] };
  test.each([
    ["the last message, when it is a user's", { messages: [user("Hi")], prompt: "no" }, "Hi", 0],
    [
      "nothing after a tool's result",
      { messages: [user("Hi"), { role: "tool", tool_call_id: "t", content: "1" }], prompt: "tool_results" },
      "",
      2,
    ],
    ["the field after an answer", { messages: [user("Hi"), answer], prompt: " Continue " }, "Continue", 2],
    [
      "the field after a system message",
      { messages: [{ role: "system", content: "Be brief." }], prompt: "Hi" },
      "Hi",
      1,
    ],
    ["the field alone", { prompt: "Hi" }, "Hi", 0],
    ["nothing", {}, "", 0],
    [
      "the user's message before an empty answer",
      { messages: [user("Hi"), { role: "assistant", content: " ", parts: [filler] }] },
      "Hi",
      0,
    ],
    [
      "the user's message before several of them",
      { messages: [user("Hi"), { role: "assistant" }, { role: "assistant", content: null }], prompt: "x" },
      "Hi",
      0,
    ],
    [
      "not the one before an answer of reasoning",
      { messages: [user("Hi"), { role: "assistant", reasoning: "Hm." }], prompt: "x" },
      "x",
      1,
    ],
    [
      "not the one before an answer of calls",
      { messages: [user("Hi"), { role: "assistant", parts: [callPart] }], prompt: "x" },
      "x",
      2,
    ],
    [
      "text of parts when the content is empty",
      {
        messages: [
          {
            role: "user",
            content: " ",
            parts: [
              { type: "text", text: " a " },
              { type: "text" },
              { type: "text", text: " " },
              { type: "text", text: "b" },
            ],
          },
        ],
      },
      "a\nb",
      0,
    ],
    [
      "the trimmed content before any parts",
      { messages: [{ role: "user", content: " a ", parts: [{ type: "text", text: "b" }] }] },
      "a",
      0,
    ],
  ])("is %s", (_name, body, prompt, entries) => {
    const turn = read(body);
    expect(turn.prompt).toBe(prompt);
    expect(turn.history).toHaveLength(entries);
  });
});

describe("R-SV-9 the conversation before it", () => {
  const historyOf = (...messages: unknown[]) => read({ messages: [...messages, user("next", "u9")] }).history;

  test("calls are read in both spellings, and once when both are there", () => {
    const listed = { id: "t1", function: { name: "get", arguments: '{"page":1}' } };
    const entry = { role: "assistant", content: "", tool_calls: [callEntry] };
    expect(historyOf({ role: "assistant", parts: [callPart] })).toEqual([entry]);
    expect(historyOf({ role: "assistant", parts: [{ ...callPart, input: '{"page":1}' }] })).toEqual([entry]);
    expect(historyOf({ role: "assistant", content: null, tool_calls: [listed] })).toEqual([entry]);
    expect(historyOf({ role: "assistant", tool_calls: [listed], parts: [callPart] })).toEqual([entry]);
  });

  test("who carries a call out is said by its part, by a published history, or by the client's tools", () => {
    const executionOf = (part: object, message: object = {}): unknown =>
      read({
        messages: [{ role: "assistant", parts: [{ ...callPart, target: undefined, ...part }], ...message }, user("x")],
        clientTools: [{ name: "open" }],
      }).history[0]?.tool_calls?.[0]?.execution;
    expect(executionOf({ target: "frontend" })).toBe("client");
    expect(executionOf({ target: "backend", toolName: "open" })).toBe("server");
    expect(executionOf({ toolName: "open" })).toBe("client");
    expect(executionOf({})).toBe("server");
    const listed = [{ id: "t1", execution: "client", function: { name: "get", arguments: "{}" } }];
    expect(executionOf({}, { tool_calls: listed })).toBe("client");
  });

  test("an approval that a call needs is kept", () => {
    const [entry] = historyOf({ role: "assistant", parts: [{ ...callPart, confirmation: "required" }] });
    expect(entry?.tool_calls).toEqual([{ ...callEntry, confirmation: "required" }]);
  });

  test.each([
    ["[1]", "{}"],
    ["{", "{}"],
    ["", "{}"],
    [null, "{}"],
    [undefined, "{}"],
    ['{"a": 1}', '{"a":1}'],
    [{ a: "é" }, '{"a":"é"}'],
  ])("the input %j is the text of an object", (input, text) => {
    const [entry] = historyOf({ role: "assistant", parts: [{ ...callPart, input }] });
    expect(entry?.tool_calls?.[0]?.function.arguments).toBe(text);
  });

  test("results inside of an answer become tool entries, and what comes after them a step of its own", () => {
    expect(historyOf({ role: "assistant", content: "Look. Done.", parts: [filler, callPart, resultPart] })).toEqual([
      { role: "assistant", content: "Look. Done.", tool_calls: [callEntry] },
      resultEntry,
    ]);
    const parts = [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Look. " },
      callPart,
      resultPart,
      { type: "text", text: "Done." },
    ];
    expect(historyOf({ role: "assistant", content: "Look. Done.", parts })).toEqual([
      { role: "assistant", content: "Look.", tool_calls: [callEntry], reasoning: "Hm." },
      resultEntry,
      { role: "assistant", content: "Done." },
    ]);
  });

  test.each([
    ["the part, with empty content", { content: "", parts: [resultPart] }, '{"n":1}'],
    ["the part, as text", { parts: [{ ...resultPart, output: "plain" }] }, "plain"],
    ["the part, with null", { parts: [{ ...resultPart, output: null }] }, "null"],
    ["content under tool_call_id", { content: "plain", tool_call_id: "t1" }, "plain"],
    ["content under toolCallId", { content: "plain", toolCallId: "t1" }, "plain"],
    ["content before the part", { content: "plain", parts: [resultPart] }, "plain"],
  ])("a tool's result is read from %s", (_name, fields, content) => {
    expect(historyOf({ role: "tool", ...fields })).toEqual([{ role: "tool", content, tool_call_id: "t1" }]);
  });

  test("a tool's message in the form of published histories says whether its result is a failure", () => {
    const said = { role: "tool", content: "no", tool_call_id: "t1" };
    expect(historyOf({ ...said, is_error: true })).toEqual([{ ...said, is_error: true }]);
    expect(historyOf({ ...said, is_error: false })).toEqual([said]);
  });

  test("several results in one message are several entries, and one without a call is none", () => {
    const other = { ...resultPart, toolCallId: "t2", output: 2 };
    expect(historyOf({ role: "tool", content: "", parts: [resultPart, other] })).toEqual([
      resultEntry,
      { role: "tool", content: "2", tool_call_id: "t2" },
    ]);
    expect(historyOf({ role: "tool", content: "lost" })).toEqual([]);
  });

  test("what says nothing is left out; system messages stay where they are", () => {
    expect(
      historyOf(
        { role: "system", content: "Be brief." },
        { role: "user", content: "" },
        { role: "assistant", parts: [filler] },
        { role: "assistant", parts: [{ type: "tool-call", toolName: "get" }] },
      ),
    ).toEqual([{ role: "system", content: "Be brief." }]);
  });

  test("pictures are shown to the model, other files are named", () => {
    const files = [
      { type: "file", name: "a.png", mediaType: "image/png", url: "data:image/png;base64,aGk=" },
      { type: "file", name: "b", mediaType: "image/webp", url: "https://a.test/b" },
      { type: "image", url: "https://a.test/c" },
      { type: "file", name: "d.JPG", url: "https://a.test/d" },
      { type: "file", name: "e.pdf", mediaType: "application/pdf", url: "data:application/pdf;base64,aGk=" },
      { type: "file", name: "f.png", mediaType: "image/png", url: "blob:https://a.test/1" },
      { type: "file", mediaType: "image/png" },
    ];
    const images = [
      { data: "aGk=", mediaType: "image/png" },
      { url: "https://a.test/b" },
      { url: "https://a.test/c" },
      { url: "https://a.test/d" },
    ];
    const text = "See\n[file: e.pdf]\n[file: f.png]\n[file: without a name]";
    const message = { ...user("See"), parts: files };
    expect(read({ messages: [message] })).toMatchObject({ prompt: text, images });
    expect(historyOf(message)).toEqual([{ role: "user", content: text, images }]);
    expect(read({ messages: [user("Hi")] })).not.toHaveProperty("images");
  });
});

describe("R-SV-10 what a page shows", () => {
  test("messages keep their ids and parts, but for filler", () => {
    const parts = [filler, { type: "text", text: "Hello" }, { type: "own", x: 1 }];
    expect(
      read({ messages: [user("Hi"), { id: "a1", role: "assistant", content: "Hello", parts }], prompt: "go" }).display,
    ).toEqual([user("Hi"), { id: "a1", role: "assistant", content: "Hello", parts: parts.slice(1) }]);
  });

  test("a message without parts gets them", () => {
    const listed = [{ id: "t1", function: { name: "get", arguments: '{"page":1}' } }];
    const { display } = read({
      messages: [
        { id: "a1", role: "assistant", content: "Look.", reasoning: "Hm.", tool_calls: listed },
        { id: "r1", role: "tool", tool_call_id: "t1", content: '{"n":1}' },
      ],
    });
    expect(display).toEqual([
      {
        id: "a1",
        role: "assistant",
        content: "Look.",
        reasoning: "Hm.",
        parts: [{ type: "reasoning", text: "Hm." }, { type: "text", text: "Look." }, callPart],
      },
      {
        id: "r1",
        role: "tool",
        content: '{"n":1}',
        parts: [{ type: "tool-result", toolCallId: "t1", output: { n: 1 } }],
      },
    ]);
  });

  test("ids that are missing or come twice are made unique, the same in the next turn", () => {
    const messages = [
      { role: "user", content: "a" },
      { ...user("b", "x") },
      { ...user("c", "x") },
      { role: "user", content: "d" },
    ];
    const ids = read({ messages }).display.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids.slice(1, 3)).toEqual(["x", "x.2"]);
    const next = read({ messages: [...messages, { role: "assistant", content: "e" }, { role: "user", content: "f" }] });
    expect(next.display.slice(0, 4).map(({ id }) => id)).toEqual(ids);
    expect(read({ messages: [{ role: "user", content: "b" }] }).display[0]?.id).not.toBe(ids[0]);
  });
});

describe("R-SV-11 tools, decisions and the rest", () => {
  test("client tools have a name, and defaults for what they leave out; the first of a name counts", () => {
    const parameters = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
    const { clientTools } = read({
      clientTools: [
        { name: "open", description: "Opens.", parameters },
        {},
        "x",
        null,
        { name: "" },
        { name: "go" },
        { name: "open" },
      ],
    });
    expect(clientTools).toEqual([
      { name: "open", description: "Opens.", parameters },
      { name: "go", description: "", parameters: { type: "object", properties: {} } },
    ]);
    const bare = read({ clientTools: [{ name: "go", parameters: { properties: { a: true }, $defs: {} } }] });
    expect(bare.clientTools[0]?.parameters).toEqual({ type: "object", properties: { a: true }, $defs: {} });
  });

  test.each([
    [{ name: "a b" }, "/clientTools/0/name"],
    [{ name: "a".repeat(65) }, "/clientTools/0/name"],
    [{ name: "a", parameters: "x" }, "/clientTools/0/parameters"],
    [{ name: "a", parameters: [] }, "/clientTools/0/parameters"],
    [{ name: "a", parameters: { type: "string" } }, "/clientTools/0/parameters/type"],
    [{ name: "a", parameters: { properties: { b: "string" } } }, "/clientTools/0/parameters/properties/b"],
    [{ name: "a", parameters: { properties: { b: { type: "text" } } } }, "/clientTools/0/parameters/properties/b/type"],
    [{ name: "a", parameters: { properties: [] } }, "/clientTools/0/parameters/properties"],
    [{ name: "a", parameters: { required: "b" } }, "/clientTools/0/parameters/required"],
    [
      { name: "a", parameters: { properties: { b: { items: [{}, 1] } } } },
      "/clientTools/0/parameters/properties/b/items/1",
    ],
    [{ name: "a", parameters: { anyOf: [] } }, "/clientTools/0/parameters/anyOf"],
  ])("the tool %j is refused by its field", (tool, path) => {
    expect(faultOf({ clientTools: [tool] })).toBe(path);
  });

  test("decisions are trimmed and lower-cased; the first of a call counts, and others are dropped", () => {
    const { decisions } = read({
      toolDecisions: [
        { toolCallId: "a", decision: " Approve " },
        { toolCallId: "a", decision: "deny" },
        { toolCallId: "b", decision: "DENY" },
        { toolCallId: "c", decision: "maybe" },
        { toolCallId: "d" },
        { decision: "deny" },
        { toolCallId: 1, decision: "deny" },
        "x",
        null,
      ],
    });
    expect(decisions).toEqual([
      { toolCallId: "a", decision: "approve" },
      { toolCallId: "b", decision: "deny" },
    ]);
  });

  test("thinking is on but for the literal false; names are trimmed, and empty ones are none", () => {
    expect(read({}).thinking).toBe(true);
    expect(read({ options: { thinking: false } }).thinking).toBe(false);
    expect(read({ options: { thinking: "false" } }).thinking).toBe(true);
    expect(read({ chatId: " c1 ", model: " m " })).toMatchObject({ chatId: "c1", model: "m" });
    expect(read({ chatId: " ", model: "" })).toMatchObject({ chatId: undefined, model: undefined });
    expect(read({ context: { page: "/" } }).context).toEqual({ page: "/" });
  });

  test("null counts as left out, and unknown fields pass", () => {
    const fields = ["messages", "prompt", "chatId", "context", "clientTools", "toolDecisions", "model", "options"];
    const nulls = Object.fromEntries(fields.map((name) => [name, null]));
    expect(read({ ...nulls, provider: "x", own: 1 })).toEqual(read({}));
    expect(read({ messages: [{ id: null, role: "user", content: "Hi", parts: null, own: 1 }] }).prompt).toBe("Hi");
  });

  test.each([
    [[], ""],
    ["x", ""],
    [{ messages: {} }, "/messages"],
    [{ messages: ["x"] }, "/messages/0"],
    [{ messages: [[]] }, "/messages/0"],
    [{ messages: [{ content: "x" }] }, "/messages/0/role"],
    [{ messages: [{ role: "bot" }] }, "/messages/0/role"],
    [{ messages: [{ role: "user", content: 5 }] }, "/messages/0/content"],
    [{ messages: [{ role: "user", parts: ["x"] }] }, "/messages/0/parts/0"],
    [{ messages: [{ role: "user", id: "x".repeat(257) }] }, "/messages/0/id"],
    [{ prompt: 5 }, "/prompt"],
    [{ chatId: 5 }, "/chatId"],
    [{ chatId: "x".repeat(257) }, "/chatId"],
    [{ context: "x" }, "/context"],
    [{ context: [] }, "/context"],
    [{ clientTools: {} }, "/clientTools"],
    [{ toolDecisions: {} }, "/toolDecisions"],
    [{ model: 5 }, "/model"],
    [{ options: [] }, "/options"],
  ])("%j is refused by its field", (body, path) => {
    expect(faultOf(body)).toBe(path);
  });
});

describe("R-SV-12 a repeat is known", () => {
  const decisions = (...pairs: [string, string][]) => ({
    toolDecisions: pairs.map(([toolCallId, decision]) => ({ toolCallId, decision })),
  });
  const identityOf = (body: unknown, key?: string) => read(body, key).identity;

  test("by its key, whatever it says", () => {
    expect(identityOf({ messages: [user("a")] }, "k")).toBe(identityOf({ messages: [user("b", "u2")] }, "k"));
    expect(identityOf({ prompt: "a" }, "k")).not.toBe(identityOf({ prompt: "a" }, "l"));
  });

  test("by the set of its decisions, before any message", () => {
    const one = identityOf({ messages: [user("a")], ...decisions(["a", "approve"], ["b", "deny"]) });
    expect(identityOf({ messages: [user("b", "u2")], ...decisions(["b", "DENY"], ["a", "approve"]) })).toBe(one);
    expect(identityOf(decisions(["a", "approve"]))).not.toBe(one);
    expect(identityOf(decisions(["a", "deny"]))).not.toBe(identityOf(decisions(["a", "approve"])));
  });

  test("by the id of its last message and what that says", () => {
    expect(identityOf({ messages: [user("a")] })).toBe(identityOf({ messages: [user("b", "u0"), user(" a ")] }));
    expect(identityOf({ messages: [user("a")] })).not.toBe(identityOf({ messages: [user("c")] }));
    const picture = { ...user("a"), parts: [{ type: "file", url: "https://a.test/x.png", mediaType: "image/png" }] };
    expect(identityOf({ messages: [user("a")] })).not.toBe(identityOf({ messages: [picture] }));
    expect(identityOf({ messages: [user("a")] })).not.toBe(identityOf({ messages: [user("a", "u2")] }));
    const tool = { id: "u1", role: "tool", parts: [resultPart] };
    expect(identityOf({ messages: [tool], prompt: "tool_results" })).toBe(identityOf({ messages: [tool], prompt: "" }));
  });

  test("that goes on from an answer, by what is new in it too", () => {
    const answer = { id: "a1", role: "assistant", content: "x", parts: [callPart] };
    const settled = { ...answer, parts: [callPart, resultPart] };
    const identities = [
      identityOf({ messages: [answer], prompt: "Continue" }),
      identityOf({ messages: [answer], prompt: "Go on" }),
      identityOf({ messages: [settled], prompt: "" }),
      identityOf({ messages: [user("a", "a1")] }),
    ];
    expect(new Set(identities).size).toBe(4);
    expect(identityOf({ messages: [answer], prompt: " Continue" })).toBe(identities[0]);
  });

  test("by nothing but its bytes when it has no ids", () => {
    expect(identityOf({ prompt: "Hi" })).toBeUndefined();
    expect(identityOf({ messages: [{ role: "user", content: "Hi" }] })).toBeUndefined();
    expect(identityOf({ messages: [user("Hi", "")] })).toBeUndefined();
  });
});

test("R-SV-9 R-SV-10 R-SV-11 whatever is sent, what is read can be used", () => {
  const id = fc.constantFrom("t1", "t2", "", 5, null);
  const part = fc.record(
    {
      type: fc.constantFrom("text", "reasoning", "tool-call", "tool-result", "file", "image", "x", 5),
      text: fc.oneof(fc.string(), fc.jsonValue()),
      toolCallId: id,
      toolName: fc.constantFrom("get", "", 5),
      target: fc.constantFrom("backend", "frontend", "x"),
      input: fc.oneof(fc.jsonValue(), fc.json()),
      output: fc.jsonValue(),
      url: fc.constantFrom("https://a.test/x.png", "data:image/png;base64,aGk=", "x", 5),
    },
    { requiredKeys: ["type"] },
  );
  const message = fc.record(
    {
      id: fc.constantFrom("a", "b", "a.2", "", null),
      role: fc.constantFrom("user", "assistant", "system", "tool"),
      content: fc.constantFrom("", " ", "text", null),
      parts: fc.array(part, { maxLength: 6 }),
      tool_calls: fc.array(
        fc.record(
          { id, function: fc.oneof(fc.jsonValue(), fc.record({ name: fc.string(), arguments: fc.json() })) },
          { requiredKeys: [] },
        ),
        { maxLength: 3 },
      ),
      tool_call_id: id,
    },
    { requiredKeys: ["role"] },
  );
  const body = fc.record(
    {
      messages: fc.array(message, { maxLength: 6 }),
      prompt: fc.string(),
      toolDecisions: fc.array(fc.jsonValue()),
      clientTools: fc.array(
        fc.oneof(fc.jsonValue(), fc.record({ name: fc.constantFrom("get", "go"), parameters: fc.jsonValue() })),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(body, (sent) => {
      const reading = readTurn(sent, undefined);
      if (!reading.ok) {
        expect(reading.path).toMatch(/^\/clientTools\/\d+\/(name|parameters)/);
        return;
      }
      const { display, history, clientTools } = reading.turn;
      const ids = display.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).not.toContain("");
      for (const entry of history) {
        const says = entry.content !== "" || entry.tool_calls !== undefined || entry.images !== undefined;
        expect(says || entry.role === "tool").toBe(true);
        if (entry.role === "tool") expect(entry.tool_call_id).toMatch(/./);
        for (const call of entry.tool_calls ?? []) {
          expect(JSON.parse(call.function.arguments)).toBeTypeOf("object");
          expect(call.function.name).not.toBe("");
        }
      }
      for (const { parameters } of clientTools) expect(parameters).toMatchObject({ type: "object" });
    }),
    { numRuns: 1000 },
  );
});
