// The console's picture of a chat, as a pure function of what arrived: messages, tool calls, endings, stored chats, and what is posted.
import { describe, expect, it } from "vitest";
import {
  contextWords,
  cutWords,
  pageTitle,
  phaseWords,
  stateWords,
  waitWords,
} from "../../src/console/chat/chat-words.ts";
import {
  type ChatView,
  decided,
  type Input,
  isLive,
  newChatView,
  openPageCalls,
  questionOf,
  reduce,
  undecided,
} from "../../src/console/chat/chat-view.ts";
import { createDrafts } from "../../src/console/chat/drafts.ts";
import { chatRows, storedChat } from "../../src/console/chat/history.ts";
import { callsOf, type ChatMessage, messageText } from "../../src/console/chat/messages.ts";
import { accentColors, deniedOutput, pageTools, runPageTool } from "../../src/console/chat/page-tools.ts";
import { keepPosted, keptPosted } from "../../src/console/chat/posted.ts";
import { explain, problemFrom } from "../../src/console/chat/problem.ts";
import { callState, resultOf } from "../../src/console/chat/tool-calls.ts";
import { askBody, decisionBody, resultsBody, withModel } from "../../src/console/chat/turn-body.ts";
import { type Fields, fieldsIn } from "../../src/console/fields.ts";

const event = (type: string, fields: Fields = {}): Input => ({ kind: "event", type, event: { type, ...fields } });
const user = (text: string, id = "u1"): ChatMessage => ({ id, role: "user", parts: [{ kind: "text", text }] });
const asked: Input = { kind: "asked", message: user("Hi") };
const accepted: Input = { kind: "accepted", runId: "sv_1" };
const start = event("message.start", { messageId: "msg_sv_1", chatId: "c1" });
const text = (delta: string): Input => event("text.delta", { delta });
const done: Input = { kind: "done" };
const after = (inputs: readonly Input[], from: ChatView = newChatView("c1")): ChatView => inputs.reduce(reduce, from);

const serverCall = (toolCallId: string, more: Fields = {}): Input =>
  event("tool.call", { toolCallId, toolName: "send", target: "backend", input: { to: "x" }, ...more });
const pageCall = (toolCallId: string, toolName = "get_local_time"): Input =>
  event("tool.call", { toolCallId, toolName, target: "frontend", input: {} });

describe("R-SVV-1 an answer", () => {
  it("keeps text, reasoning and calls in the order in which they came", () => {
    const view = after([
      asked,
      accepted,
      start,
      event("reasoning.delta", { delta: "I will " }),
      event("reasoning.delta", { delta: "look." }),
      text("Let me "),
      text("see."),
      serverCall("call-1"),
      event("tool.result", { toolCallId: "call-1", toolName: "send", output: { sent: true } }),
      text("It is sent."),
    ]);
    expect(view.messages).toMatchObject([
      { id: "u1", role: "user" },
      {
        id: "msg_sv_1",
        role: "assistant",
        parts: [
          { kind: "reasoning", text: "I will look." },
          { kind: "text", text: "Let me see." },
          { kind: "call", call: { toolCallId: "call-1", result: { kind: "done", output: { sent: true } } } },
          { kind: "text", text: "It is sent." },
        ],
      },
    ]);
    expect(isLive(view)).toBe(true);
    expect(after([done], view)).toMatchObject({ phase: "idle", ending: null });
  });

  it("is not over with message.end, and takes title, usage and progress beside it", () => {
    const view = after([
      asked,
      accepted,
      start,
      text("a"),
      event("context.usage", { usedTokens: 64, maxTokens: 128_000, percent: 0.1 }),
      event("tool.progress", { tasks: [{ id: "t", label: "Look", status: "running" }] }),
      event("message.end", { finishReason: "stop" }),
      event("chat.title", { title: "Greetings" }),
    ]);
    expect(view).toMatchObject({ phase: "open", title: "Greetings", tasks: [{ label: "Look", status: "running" }] });
    expect(contextWords(view)).toBe("Context 0.1 % of 128,000 tokens");
    expect(pageTitle(view)).toBe("… Greetings · Holdfast console");
    const ended = after([done], view);
    expect(ended).toMatchObject({ phase: "idle", tasks: [] });
    expect(pageTitle(ended)).toBe("Greetings · Holdfast console");
  });

  it("that is read again from its beginning is written anew, not twice", () => {
    const whole = [start, text("all "), text("of it"), serverCall("call-1")];
    const view = after([asked, accepted, ...whole, ...whole, done]);
    expect(view.messages).toHaveLength(2);
    expect(view.messages.at(-1)?.parts).toMatchObject([{ text: "all of it" }, { call: { toolCallId: "call-1" } }]);
  });

  it("begins with its first words when nothing has announced it", () => {
    const view = after([asked, accepted, event("text.delta", { delta: "a", messageId: "m" }), text("b")]);
    expect(view.messages.at(-1)).toEqual({ id: "m", role: "assistant", parts: [{ kind: "text", text: "ab" }] });
  });

  it("shows an event of no known type, an empty delta and a result without a call as nothing", () => {
    const view = after([asked, accepted, start, text("a")]);
    const strange = [event("weather"), text(""), event("tool.result", { toolCallId: "nobody", output: 1 })];
    expect(after([...strange, event("tool.call", {})], view)).toEqual(view);
  });

  it("takes the chat's name from the server", () => {
    expect(after([asked, accepted, event("message.start", { chatId: "other", messageId: "m" })]).chatId).toBe("other");
  });
});

describe("R-SVV-1 a tool call", () => {
  const stateOf = (view: ChatView): string | undefined => {
    const [call] = callsOf(view.messages);
    return call === undefined ? undefined : callState(call, isLive(view));
  };
  const called = [asked, accepted, start, serverCall("call-1")];

  it.each<[string, Fields, string]>([
    ["any value", { output: null }, "done"],
    ["a success", { output: { success: true } }, "done"],
    ["a failure", { output: { success: false, error: "no" } }, "failed"],
    ["a no", { output: { success: false, denied: true, error: "no" } }, "denied"],
  ])("is answered by %s", (_name, result, state) => {
    expect(stateOf(after(called))).toBe("running");
    expect(stateOf(after([...called, event("tool.result", { toolCallId: "call-1", ...result })]))).toBe(state);
  });

  it("that nobody carries out any more says so", () => {
    expect(stateOf(after([...called, done]))).toBe("left open");
  });

  it("shows links to the web, and no others", () => {
    const links = [
      { label: "Good", url: "https://a.example/x" },
      { url: "http://b.example" },
      { label: "Script", url: "javascript:alert(1)" },
      { label: "None" },
      { label: "Relative", url: "/etc" },
      { label: "Data", url: "data:text/html,x" },
    ];
    const result = { toolCallId: "call-1", output: {}, renderHint: "resource_links", renderData: { links } };
    expect(callsOf(after([...called, event("tool.result", result)]).messages)[0]?.result?.links).toEqual([
      { label: "Good", url: "https://a.example/x" },
      { label: "http://b.example", url: "http://b.example" },
    ]);
    const plain = { ...result, renderHint: "plain" };
    expect(callsOf(after([...called, event("tool.result", plain)]).messages)[0]?.result?.links).toEqual([]);
  });
});

describe("R-SVV-4 approvals", () => {
  const waiting = after([asked, accepted, start, serverCall("call-1", { confirmation: "required" }), done]);

  it("wait, also when the turn is over, and say so", () => {
    expect(undecided(waiting).map(({ toolCallId }) => toolCallId)).toEqual(["call-1"]);
    expect(phaseWords(waiting)).toBe("Waiting for you.");
  });

  it("are decided once; the result goes to the call, and the next answer is a message of its own", () => {
    const made = after([{ kind: "decided", toolCallId: "call-1", decision: "approve" }], waiting);
    expect(undecided(made)).toEqual([]);
    expect(decided(made)).toHaveLength(1);
    expect(stateWords(callState(callsOf(made.messages)[0] ?? never(), false))).toBe("approved");
    const posted = after([{ kind: "going_on" }], made);
    expect(callState(callsOf(posted.messages)[0] ?? never(), true)).toBe("running");
    const view = after(
      [
        accepted,
        event("tool.result", { toolCallId: "call-1", output: "sent" }),
        event("message.start", { messageId: "msg_sv_2" }),
        text("Done."),
        done,
      ],
      posted,
    );
    expect(view.messages.map(({ id }) => id)).toEqual(["u1", "msg_sv_1", "msg_sv_2"]);
    expect(callsOf(view.messages)).toMatchObject([{ decision: null, result: { kind: "done", output: "sent" } }]);
  });

  it("can be decided otherwise until they are sent, and say which way they were", () => {
    const [yes, no] = (["approve", "deny"] as const).map((decision): Input => ({
      kind: "decided",
      toolCallId: "call-1",
      decision,
    }));
    const view = after([yes ?? never(), no ?? never()], waiting);
    expect(decided(view)).toMatchObject([{ decision: "deny" }]);
    expect(stateWords(callState(callsOf(view.messages)[0] ?? never(), false))).toBe("denied");
    expect(decided(after([yes ?? never()], view))).toMatchObject([{ decision: "approve" }]);
  });

  it.each<["approve" | "deny", unknown, true | undefined]>([
    ["deny", { success: false, denied: true }, undefined],
    ["deny", "sent", true],
    ["deny", { success: false, error: "no" }, true],
    ["approve", "sent", undefined],
    ["approve", { success: false, error: "no" }, undefined],
    ["approve", { success: false, denied: true }, true],
  ])("tell when another page's decision stood: here %s, then %j", (decision, output, overruled) => {
    const said: Input = { kind: "decided", toolCallId: "call-1", decision };
    const result = event("tool.result", { toolCallId: "call-1", output });
    const view = after([said, { kind: "going_on" }, accepted, result, done], waiting);
    expect(callsOf(view.messages)[0]?.overruled).toBe(overruled);
  });

  it("can be decided again when the decision had no effect", () => {
    const problem = problemFrom(503, {}, null);
    const denied: Input = { kind: "decided", toolCallId: "call-1", decision: "deny" };
    const view = after([denied, { kind: "going_on" }, { kind: "refused", problem }], waiting);
    expect(undecided(view)).toHaveLength(1);
  });

  it("are posted together, with what the page itself has carried out for the same answer", () => {
    const mixed = after([
      asked,
      accepted,
      start,
      serverCall("a", { confirmation: "required" }),
      serverCall("b", { confirmation: "required" }),
      pageCall("p"),
      done,
      { kind: "decided", toolCallId: "b", decision: "deny" },
    ]);
    expect([undecided(mixed).length, openPageCalls(mixed).length]).toEqual([1, 1]);
    const view = after(
      [
        { kind: "settled", toolCallId: "p", result: resultOf({ localTime: "now" }) },
        { kind: "decided", toolCallId: "a", decision: "approve" },
      ],
      mixed,
    );
    expect(decisionBody(view, "")).toMatchObject({
      identity: "decisions msg_sv_1",
      body: {
        chatId: "c1",
        prompt: "",
        messages: [{ role: "tool", toolCallId: "p" }],
        toolDecisions: [
          { toolCallId: "a", decision: "approve" },
          { toolCallId: "b", decision: "deny" },
        ],
      },
    });
  });
});

describe("R-SVV-5 the page's own tools", () => {
  const means = { now: () => new Date(0), setAccent: () => {} };

  it("run at once or wait for a yes, as they say themselves", () => {
    const view = after([asked, accepted, start, pageCall("a"), pageCall("b", "change_accent_color"), done]);
    expect(openPageCalls(view).map(({ toolName, confirmation }) => [toolName, confirmation])).toEqual([
      ["get_local_time", false],
      ["change_accent_color", true],
    ]);
    expect(undecided(view)).toEqual([]);
    const [first, second] = callsOf(view.messages);
    expect(callState(first ?? never(), true)).toBe("running");
    expect(callState(second ?? never(), true)).toBe("waiting");
  });

  it("hand in their results as messages; the server has the calls", () => {
    const view = after([
      asked,
      accepted,
      start,
      text("Wait."),
      serverCall("s"),
      event("tool.result", { toolCallId: "s", toolName: "send", output: 1 }),
      pageCall("p"),
      done,
      { kind: "settled", toolCallId: "p", result: resultOf(deniedOutput) },
    ]);
    expect(openPageCalls(view)).toEqual([]);
    expect(callState(callsOf(view.messages)[1] ?? never(), false)).toBe("denied");
    const { body, identity } = resultsBody(view, "");
    expect(identity).toBe("results msg_sv_1");
    const results = [
      {
        id: "result_p",
        role: "tool",
        content: "",
        toolCallId: "p",
        parts: [{ type: "tool-result", toolCallId: "p", toolName: "get_local_time", output: deniedOutput }],
      },
    ];
    expect(body).toMatchObject({ prompt: "tool_results", messages: results });
  });

  it("do what they are asked, or say why not", () => {
    const colors: string[] = [];
    const paint = { ...means, setAccent: (color: string) => colors.push(color) };
    expect(runPageTool("get_local_time", {}, means)).toMatchObject({ localTime: expect.stringContaining("1970") });
    for (const color of accentColors) {
      expect(runPageTool("change_accent_color", { color }, paint)).toEqual({ success: true, color });
    }
    expect(runPageTool("change_accent_color", { color: "url(evil)" }, paint)).toMatchObject({ success: false });
    expect(runPageTool("change_accent_color", {}, paint)).toMatchObject({ success: false });
    expect(runPageTool("format_disk", {}, paint)).toMatchObject({ success: false });
    expect(colors).toEqual([...accentColors]);
  });
});

describe("R-SVV-7 endings", () => {
  const begun = [asked, accepted, start, text("Half")];

  it.each<[string, readonly Input[], unknown]>([
    ["stop", [event("message.end", { finishReason: "stop" })], null],
    ["tool_calls", [event("message.end", { finishReason: "tool_calls" })], null],
    ["a stop", [event("message.end", { finishReason: "cancelled" })], { kind: "stopped" }],
    ["a length", [event("message.end", { finishReason: "length" })], { kind: "cut_at_length" }],
    [
      "the step limit",
      [event("max_steps", { maxSteps: 3, canContinue: true }), event("message.end", { finishReason: "stop" })],
      { kind: "max_steps", maxSteps: 3, canContinue: true },
    ],
    [
      "an error",
      [
        event("error", { code: "overloaded", message: "provider overloaded" }),
        event("message.end", { finishReason: "error" }),
      ],
      { kind: "failed", problem: { code: "overloaded", message: "provider overloaded" } },
    ],
    ["an error that is not told", [event("message.end", { finishReason: "error" })], { kind: "failed" }],
  ])("%s", (_name, inputs, ending) => {
    const view = after([...begun, ...inputs, done]);
    expect(view).toMatchObject({ phase: "idle", ending });
    expect(messageText(view.messages.at(-1) ?? never())).toBe("Half");
    expect(after([{ kind: "going_on" }], view)).toMatchObject({ phase: "asking", ending: null, runId: null });
  });

  it.each<[string, Fields, unknown, string | undefined]>([
    ["whole", { finishReason: "stop" }, null, undefined],
    ["for a decision", { finishReason: "tool_calls" }, null, undefined],
    ["stopped", { finishReason: "cancelled" }, { kind: "stopped" }, "Stopped here."],
    ["cut", { finishReason: "length" }, { kind: "cut_at_length" }, "Cut off here at its length limit."],
    [
      "limited",
      { finishReason: "stop", maxSteps: 3 },
      { kind: "max_steps", maxSteps: 3, canContinue: true },
      undefined,
    ],
    [
      "failed",
      { finishReason: "error", error: { code: "overloaded", message: "provider overloaded" } },
      {
        kind: "failed",
        problem: { status: null, code: "overloaded", message: "provider overloaded", retryAfterMs: undefined },
      },
      "Broken off here by a failure.",
    ],
  ])("are the same after a reload: %s", (_name, finish, ending, words) => {
    const live = after([
      ...begun,
      ...(finish["error"] === undefined ? [] : [event("error", fieldsIn(finish, "error"))]),
      ...(finish["maxSteps"] === undefined ? [] : [event("max_steps", { maxSteps: 3, canContinue: true })]),
      event("message.end", finish),
      done,
    ]);
    const parts = [{ type: "text", text: "Half" }];
    const question = { id: "u1", role: "user", content: "Hi", parts: [] };
    const chat = storedChat("c1", {
      messages: [question, { id: "msg_sv_1", role: "assistant", content: "Half", parts, ...finish }],
      lastTurn: { runId: "sv_1", ...finish },
    });
    const opened = after([{ kind: "opened", chat }]);
    expect(opened.ending).toEqual(ending);
    expect(opened).toEqual({ ...live, runId: null });
    expect(questionOf(opened)).toMatchObject({ messages: [{ id: "u1" }] });
    for (const { cut } of [live, opened].flatMap(({ messages }) => messages.slice(-1))) {
      expect(cut && cutWords(cut)).toBe(words);
    }
    // Another answer does not make this one whole.
    const later = after([{ kind: "asked", message: user("More", "u2") }, accepted], opened);
    expect(later.messages[1]?.cut).toBe(opened.messages[1]?.cut);
    expect(later.ending).toBeNull();
  });

  it("of a turn that has left no message are the same after a reload", () => {
    const messages = [{ id: "u1", role: "user", content: "Hi", parts: [] }];
    const opened = (lastTurn: Fields): ChatView =>
      after([{ kind: "opened", chat: storedChat("c1", { messages, lastTurn }) }]);
    const error = { code: "rate_limited", message: "rate limited" };
    const view = opened({ runId: "sv_1", finishReason: "error", error });
    expect(view.ending).toMatchObject({ kind: "failed", problem: error });
    expect(questionOf(view)).toMatchObject({ messages: [{ id: "u1" }] });
    expect(opened({ runId: "sv_1", finishReason: "cancelled" }).ending).toEqual({ kind: "stopped" });
    expect(opened({ runId: "sv_1", finishReason: "stop" }).ending).toEqual({ kind: "unanswered" });
  });

  it("are tried again as the same turn, of the model that is chosen then", () => {
    const asking = askBody(after([asked]), "small");
    expect(withModel(asking, "large")).toEqual(askBody(after([asked]), "large"));
    expect(withModel(asking, "")).toEqual(askBody(after([asked]), ""));
    const tab = new Map<string, string>();
    const keeping = {
      getItem: (name: string) => tab.get(name) ?? null,
      setItem: (name: string, value: string) => void tab.set(name, value),
      removeItem: (name: string) => void tab.delete(name),
    };
    expect(keptPosted(keeping, "c1", "sv_1")).toBeNull();
    keepPosted(keeping, "c1", asking, null);
    expect(keptPosted(keeping, "c1", "sv_1")).toEqual(asking);
    expect(keptPosted(keeping, "c2", "sv_1")).toBeNull();
    keepPosted(keeping, "c1", asking, "sv_1");
    expect(keptPosted(keeping, "c1", "sv_1")).toEqual(asking);
    // Another page has asked since.
    expect(keptPosted(keeping, "c1", "sv_2")).toBeNull();
  });

  it("know the question that they answer, if there is one", () => {
    const view = after([...begun, event("error", {}), done]);
    expect(questionOf(view)).toMatchObject({ chatId: "c1", messages: [{ id: "u1" }] });
    expect(questionOf(after([{ kind: "going_on" }, accepted], view))).toBeNull();
    expect(questionOf(after([asked]))).toMatchObject({ messages: [{ id: "u1" }] });
  });

  it("keep what was shown when the server refuses to go on", () => {
    const problem = problemFrom(404, {}, null);
    expect(after([...begun, { kind: "refused", problem }])).toMatchObject({
      phase: "idle",
      ending: { kind: "failed", problem: { status: 404 } },
      messages: [{ id: "u1" }, { parts: [{ text: "Half" }] }],
    });
  });

  it.each<[number | null, string | undefined, string | null, RegExp, boolean]>([
    [401, undefined, null, /Enter an API key/, true],
    [401, "wrong_key", null, /mistyped/, true],
    [403, undefined, null, /policy/, false],
    [409, undefined, null, /Decide/, false],
    [413, undefined, null, /less/, false],
    [422, undefined, null, /model/, true],
    [429, undefined, "4", /in 4\.0 s/, true],
    [429, undefined, null, /moment/, true],
    [500, undefined, null, /moment/, true],
    [null, "rate_limited", null, /moment/, true],
    [null, "insufficient_credits", null, /Top it up/, true],
    [null, "llm_error", null, /kept/, true],
    [null, "no_answer", null, /connection/, true],
  ])("are explained: %s %s", (status, code, retryAfter, advice, retry) => {
    const problem = { ...problemFrom(status ?? 0, {}, retryAfter), status, code };
    expect(explain(problem)).toMatchObject({ advice: expect.stringMatching(advice), retry });
  });
});

describe("R-SVV-11 a message that cannot be sent", () => {
  it("is told why", () => {
    const waiting = after([asked, accepted, start, serverCall("call-1", { confirmation: "required" }), done]);
    expect(waitWords(waiting, false)).toContain("approve or deny");
    expect(waitWords(after([asked]), false)).toContain("stop the answer first");
    expect(waitWords(newChatView("c1"), true)).toContain("being opened");
    expect(waitWords(newChatView("c1"), false)).toBe("");
  });

  it("stays with its chat as a draft", () => {
    const drafts = createDrafts();
    expect(drafts.turnTo("a", "for a new one")).toBe("");
    expect(drafts.turnTo("b", "for a")).toBe("");
    expect(drafts.turnTo("a", "for b")).toBe("for a");
    expect(drafts.turnTo(null, "")).toBe("for a new one");
    // The new chat is begun with it.
    drafts.began("c");
    expect(drafts.turnTo("a", "next for c")).toBe("");
    expect(drafts.turnTo(null, "")).toBe("");
    expect(drafts.turnTo("c", "")).toBe("next for c");
  });
});

describe("R-SVV-6 stopping", () => {
  it("lasts until the stream has ended, whatever the connection does", () => {
    const view = after([asked, { kind: "stop_asked" }, accepted, { kind: "lost", retryInMs: 500 }]);
    expect(view).toMatchObject({ phase: "stopping", runId: "sv_1" });
    expect(phaseWords(view)).toMatch(/^Connection lost\..* as soon as/);
    expect(phaseWords(after([asked, accepted, { kind: "stop_asked" }]))).toBe("Stopping…");
    expect(after([event("message.end", { finishReason: "cancelled" }), done], view).ending).toEqual({
      kind: "stopped",
    });
  });

  it("is taken back when the server refused it, and does nothing to a chat at rest", () => {
    expect(after([asked, accepted, { kind: "stop_asked" }, { kind: "stop_failed" }]).phase).toBe("open");
    expect(after([{ kind: "stop_asked" }, { kind: "stop_failed" }]).phase).toBe("idle");
  });

  it("of a turn that the server never took gives it up", () => {
    const view = after([asked, { kind: "lost", retryInMs: 1500 }]);
    expect(phaseWords(view)).toBe("Connection lost. Trying again in 2 s…");
    expect(after([{ kind: "given_up" }], view)).toMatchObject({ phase: "idle", ending: { kind: "stopped" } });
  });
});

describe("R-SVV-3 a stored chat", () => {
  const call = (toolCallId: string, more: Fields = {}) => ({
    type: "tool-call",
    toolCallId,
    toolName: "send",
    target: "backend",
    input: { to: toolCallId },
    ...more,
  });
  const entry = (content: string, ids: readonly string[], more: Fields = {}) => ({
    role: "assistant",
    content,
    tool_calls: ids.map((id) => ({ id, function: { name: "send", arguments: "{}" } })),
    ...more,
  });

  it("has its texts and calls in the order in which they were made", () => {
    const detail = {
      title: "Letters",
      messages: [
        { id: "u1", role: "user", content: "Send two.", parts: [] },
        {
          id: "msg_1",
          role: "assistant",
          content: "First one.Second one.Both sent.",
          reasoning: "Hm.So.",
          parts: [
            { type: "reasoning", text: "Hm.So." },
            { type: "text", text: "First one.Second one.Both sent." },
            call("a"),
            call("b"),
            { type: "tool-result", toolCallId: "a", output: "ok" },
            { type: "tool-result", toolCallId: "b", output: { success: false } },
          ],
        },
      ],
      conversationHistory: [
        { role: "user", content: "Send two." },
        entry("First one.", ["a"], { reasoning: "Hm." }),
        { role: "tool", tool_call_id: "a", content: "ok" },
        entry("Second one.", ["b"]),
        { role: "tool", tool_call_id: "b", content: "{}" },
        { role: "assistant", content: "Both sent." },
      ],
    };
    const chat = storedChat("c1", detail);
    expect(chat).toMatchObject({ chatId: "c1", title: "Letters", activeRunId: undefined });
    expect(chat.messages[1]?.parts).toMatchObject([
      { kind: "reasoning", text: "Hm." },
      { kind: "text", text: "First one." },
      { kind: "call", call: { toolCallId: "a", result: { kind: "done" } } },
      { kind: "text", text: "Second one." },
      { kind: "call", call: { toolCallId: "b", result: { kind: "failed" } } },
      { kind: "reasoning", text: "So." },
      { kind: "text", text: "Both sent." },
    ]);
    expect(after([{ kind: "opened", chat }]).ending).toBeNull();
  });

  it("loses nothing when the conversation does not tell the order", () => {
    const parts = [call("a", { input: '{"n":1}', confirmation: "required" }), call("b", { target: "frontend" })];
    const message = { id: "m", role: "assistant", content: "All.", parts };
    const chat = storedChat("c1", { messages: [message], conversationHistory: [entry("Other.", ["a"])] });
    expect(chat.messages[0]?.parts).toMatchObject([
      { kind: "call", call: { toolCallId: "a", input: { n: 1 }, confirmation: true } },
      { kind: "text", text: "All." },
      { kind: "call", call: { toolCallId: "b", target: "frontend" } },
    ]);
    expect(undecided(after([{ kind: "opened", chat }]))).toHaveLength(1);
  });

  it("attaches a result that came as a message of its own, also one in JSON text", () => {
    const results = { type: "tool-result", toolCallId: "a", output: '{"success":false,"denied":true}' };
    const chat = storedChat("c1", {
      messages: [
        { id: "m", role: "assistant", content: "", parts: [{ type: "reasoning", text: "." }, call("a")] },
        { id: "t", role: "tool", content: "", parts: [results] },
      ],
    });
    expect(chat.messages).toMatchObject([{ id: "m", parts: [{ call: { result: { kind: "denied" } } }] }]);
    expect(chat.title).toBeNull();
  });

  it("has the results that only the model was told", () => {
    const message = { id: "m", role: "assistant", content: "", parts: [call("a"), call("b")] };
    const told = [
      { role: "tool", tool_call_id: "a", content: '{"success":false,"denied":true}' },
      { role: "tool", tool_call_id: "b", content: "just text" },
    ];
    const chat = storedChat("c1", { messages: [message], conversationHistory: [entry("", ["a", "b"]), ...told] });
    expect(callsOf(chat.messages)).toMatchObject([
      { result: { kind: "denied" } },
      { result: { kind: "done", output: "just text" } },
    ]);
  });

  it("says that its last message has no answer, unless a turn is at it", () => {
    const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hello?" }] }];
    const chat = storedChat("c1", { messages });
    expect(chat.messages).toMatchObject([{ parts: [{ text: "Hello?" }] }]);
    expect(after([{ kind: "opened", chat }]).ending).toEqual({ kind: "unanswered" });
    const running = storedChat("c1", { messages, activeRunId: "sv_1" });
    expect(after([{ kind: "opened", chat: running }])).toMatchObject({ ending: null, messages: [{ id: "u1" }] });
  });

  it("is listed by what the server says of it", () => {
    const body = {
      histories: [{ id: "c1", chatId: "c1", title: "A", preview: "a", updatedAt: "x" }, { id: "c2" }, {}, 1],
    };
    expect(chatRows(body)).toEqual([
      { chatId: "c1", title: "A", preview: "a", updatedAt: "x" },
      { chatId: "c2", title: "", preview: "", updatedAt: "" },
    ]);
  });
});

it("R-SVV-2 a question is posted under its message's name, with the page's tools, and the server has the rest", () => {
  const view = after([asked, accepted, start, text("a"), done, { kind: "asked", message: user("And?", "u2") }]);
  expect(askBody(view, "m")).toEqual({
    identity: "u2",
    body: {
      chatId: "c1",
      messages: [{ id: "u2", role: "user", content: "And?", parts: [{ type: "text", text: "And?" }] }],
      prompt: "",
      model: "m",
      clientTools: pageTools,
    },
  });
  expect(askBody(view, "").body).not.toHaveProperty("model");
});

function never(): never {
  throw new Error("there is one");
}
