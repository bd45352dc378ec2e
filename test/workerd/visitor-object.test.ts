// The visitor's object inside workerd: which turn begins, what a model is given, what stays of it, and what a death in between changes.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { VisitorObject } from "../../durable-objects/visitor-object.ts";
import type { ChatDetail, TurnAnswer, TurnEnd, TurnRequest } from "../../schemas/chat.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import {
  answeredBy,
  approval,
  asking,
  assistant,
  call,
  clientCall,
  ending,
  shown,
  step,
  tool,
  user,
} from "../unit/chats/entries.ts";
import { agentPlan, agentTarget, demoTarget, limits, planOf, toolCallsOf } from "./plan.ts";

afterEach(() => takeGate(undefined));

type Stub = DurableObjectStub<VisitorObject>;
type Begun = Extract<TurnAnswer, { begun: true; repeat: false }>;

const DAY_MS = 86_400_000;

/** Always a fresh stub: one whose object has died stays broken. */
const newVisitor = (): (() => Stub) => {
  const name = `local/${crypto.randomUUID()}`;
  return () => env.VISITOR.getByName(name);
};

const ask = async (stub: Stub, fields: Partial<TurnRequest> = {}): Promise<TurnAnswer> =>
  stub.beginTurn(asking({ identity: crypto.randomUUID(), ...fields }));

async function begin(stub: Stub, fields: Partial<TurnRequest> = {}): Promise<Begun> {
  return begunBy(await ask(stub, fields));
}
function begunBy(answer: TurnAnswer): Begun {
  if (!answer.begun || answer.repeat) throw new Error(`not begun: ${JSON.stringify(answer)}`);
  return answer;
}

async function read(stub: Stub, chatId = "chat"): Promise<ChatDetail> {
  const detail = await readIf(stub, chatId);
  if (detail === undefined) throw new Error("no such chat");
  return detail;
}
const readIf = async (stub: Stub, chatId = "chat"): Promise<ChatDetail | undefined> => stub.read(chatId);

const answers = (runId: string, text = "It rains.", fields: Partial<TurnEnd> = {}): TurnEnd =>
  ending(runId, [step(text)], fields);

/** A run that says nothing until it is told to end. */
async function start(runId: string, fields: Partial<RunPlan> = {}): Promise<void> {
  const plan = planOf(runId, { chain: [demoTarget("demo-silent")], ...fields });
  expect(await env.RUN.getByName(`local/${runId}`).start(plan, 100)).toMatchObject({ started: true });
}
async function outcomeOf(runId: string): Promise<unknown> {
  const answer = await env.RUN.getByName(`local/${runId}`).outcome(0);
  return answer instanceof Response ? answer.json() : undefined;
}
const cancelledAs = (runId: string, reason: string): Promise<void> =>
  expect.poll(() => outcomeOf(runId), { timeout: 10_000 }).toMatchObject({ outcome: "cancelled", reason });

/** Ends the object: the next call finds a new one. */
async function crash(stub: Stub): Promise<void> {
  await expect(runInDurableObject(stub, (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");
}
/** Storage as it would be had all this happened so much earlier. */
const age = (stub: Stub, ms: number): Promise<void> =>
  runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec("UPDATE turn SET at = at - ?", ms);
  });
const tables = (stub: Stub): Promise<unknown[]> =>
  runInDurableObject(stub, (_instance, { storage }) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*' AND name NOT GLOB 'sqlite_*'")
      .toArray()
      .map(({ name }) => name),
  );

/** A chat whose last turn left these calls for approval. */
async function waiting(stub: Stub, ...ids: string[]): Promise<void> {
  const { runId } = await begin(stub, { prompt: "Pay." });
  await stub.endTurn(ending(runId, [step("", ...ids.map(approval))], { stopReason: "tool_calls" }));
}
const decide = (...toolCallIds: string[]): Partial<TurnRequest> => ({
  prompt: "",
  identity: `decisions ${JSON.stringify(toolCallIds)}`,
  decisions: toolCallIds.map((toolCallId) => ({ toolCallId, decision: "approve" })),
});
const carriedBy = ({ carried }: Begun): unknown => carried.map(({ toolCallId, decision }) => [toolCallId, decision]);

describe("chats", () => {
  it("R-SVC-1 belong to their visitor alone", async () => {
    const [visitor, other] = [newVisitor(), newVisitor()];
    const { runId, messages, title } = await begin(visitor());
    expect(runId).toMatch(/^sv_[0-9a-f]{32}$/);
    expect(messages).toEqual([{ role: "user", content: "What is the weather?" }]);
    expect(title).toEqual({ provisional: "What is the weather?", generate: true });
    expect(await visitor().endTurn(answers(runId))).toEqual({});
    expect(await other().list()).toEqual([]);
    expect(await readIf(other())).toBeUndefined();
    expect([await other().rename("chat", "Mine"), await other().remove("chat"), await other().owns(runId)]).toEqual([
      false,
      false,
      false,
    ]);
    const second = await begin(other(), { prompt: "And tomorrow?" });
    expect(second.messages).toEqual([{ role: "user", content: "And tomorrow?" }]);
    expect(await read(visitor())).toMatchObject({ title: "What is the weather?", preview: "What is the weather?" });
    expect(await other().remove("chat")).toBe(true);
    expect([(await visitor().list()).length, await visitor().owns(runId)]).toEqual([1, true]);
  });

  it("R-SVC-13 are listed newest first, and count their tokens and versions", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { chatId: "a", prompt: "One" });
    expect(await read(visitor(), "a")).toMatchObject({ version: 0, activeRunId: first.runId });
    const usage = { inputTokens: 2, outputTokens: 3, totalTokens: 9 };
    await visitor().endTurn(answers(first.runId, "1", { usage }));
    await visitor().endTurn(answers(first.runId, "other", { usage }));
    expect(await visitor().rename("a", "Mine")).toBe(true);
    const second = await begin(visitor(), { chatId: "b", prompt: "Two" });
    await visitor().endTurn(answers(second.runId, "2", { usage: { inputTokens: 2, outputTokens: 3 } }));
    const [newest, oldest] = await visitor().list();
    expect(newest).toMatchObject({ id: "b", chatId: "b", title: "Two", preview: "Two", tokensUsed: 5, version: 1 });
    expect(oldest).toMatchObject({ id: "a", title: "Mine", preview: "One", tokensUsed: 9, version: 2 });
    expect(oldest?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(await read(visitor(), "a")).not.toHaveProperty("activeRunId");
    expect((await read(visitor(), "a")).messages.map(({ content }) => content)).toEqual(["One", "1"]);
  });

  it("R-SVC-12 are called by their prompt, then by a model, and at last by their user", async () => {
    const visitor = newVisitor();
    const titles = ["What is the weather?", "Weather"];
    const first = await begin(visitor());
    await visitor().endTurn(answers(first.runId, "1", { titles }));
    const second = await begin(visitor(), { prompt: "And tomorrow?" });
    expect(second.title).toEqual({ provisional: "Weather", generate: false });
    await visitor().endTurn(answers(second.runId, "2", { titles: ["Weather"] }));
    expect(await read(visitor())).toMatchObject({ title: "Weather" });
    await visitor().rename("chat", "New Chat 2");
    const third = await begin(visitor(), { prompt: "Else?" });
    expect(third.title).toEqual({ provisional: "Else?", generate: true });
    await visitor().rename("chat", "Mine");
    await visitor().endTurn(answers(third.runId, "3", { titles: ["Else?", "Something else"] }));
    expect(await read(visitor())).toMatchObject({ title: "Mine" });
  });

  it("R-SVC-12 keep asking for a title when a first turn is tried again", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    await visitor().endTurn(answers(first.runId, "", { outcome: "error", titles: ["What is the weather?"] }));
    const second = await begin(visitor(), { identity: "i" });
    expect(second.title).toEqual({ provisional: "What is the weather?", generate: true });
  });

  it("R-SVC-10 R-SVC-11 show a turn as one message, and a model its steps", async () => {
    const visitor = newVisitor();
    const image = { url: "https://example.org/a.png" };
    const { runId } = await begin(visitor(), { display: [shown("u1", "Look")], prompt: "Look", images: [image] });
    const made = answeredBy(call("a", { echo: { signature: "s" } }), { degrees: 1 });
    await visitor().endTurn(ending(runId, [step("One. ", made), step("Two.")]));
    const { messages, conversationHistory } = await read(visitor());
    expect(messages.map(({ id, content }) => [id, content])).toEqual([
      ["u1", "Look"],
      [`msg_${runId}`, "One. Two."],
    ]);
    expect(conversationHistory).toEqual([
      { role: "user", content: "Look", images: [image] },
      assistant("One. ", call("a")),
      { role: "tool", content: '{"degrees":1}', tool_call_id: "a" },
      assistant("Two."),
    ]);
    const next = await begin(visitor(), { prompt: "And?" });
    expect(next.messages[1]).toMatchObject({ toolCalls: [{ toolCallId: "a", echo: { signature: "s" } }] });
    expect(next.callIds).toEqual(["a"]);
  });

  it("R-SVC-17 keep messages of any size whole", async () => {
    const visitor = newVisitor();
    const text = `${"🧵".repeat(600_000)}é${"x".repeat(600_000)}`;
    const { runId } = await begin(visitor(), { prompt: text });
    await visitor().endTurn(answers(runId, text));
    await crash(visitor());
    const { messages, conversationHistory } = await read(visitor());
    expect([messages[0]?.content === text, messages[1]?.content === text]).toEqual([true, true]);
    expect(conversationHistory.map(({ content }) => content === text)).toEqual([true, true]);
  });

  it("R-SVC-17 let the oldest go when they outgrow their bounds", async () => {
    const visitor = newVisitor();
    const text = "x".repeat(1_900_000);
    for (const number of [1, 2, 3, 4, 5]) {
      const { runId } = await begin(visitor(), { prompt: `${number}` });
      await visitor().endTurn(answers(runId, text));
    }
    const { messages, conversationHistory } = await read(visitor());
    expect(messages.at(-2)?.content).toBe("5");
    expect(messages[0]?.content).not.toBe("1");
    expect(conversationHistory.at(-2)?.content).toBe("5");
    expect(conversationHistory[0]?.content).not.toBe("1");
    expect(JSON.stringify([messages, conversationHistory]).length).toBeLessThan(16_000_000);
  });

  it("R-SVC-17 that are too large to be read at once say how much of them is left out", async () => {
    const visitor = newVisitor();
    for (const number of [1, 2, 3, 4, 5]) {
      const { runId } = await begin(visitor(), { prompt: `${number}` });
      await visitor().endTurn(answers(runId, "ж".repeat(780_000)));
    }
    const { messages, conversationHistory, leftOut } = await read(visitor());
    expect(leftOut).toEqual({ messages: 2, entries: 0 });
    expect([messages.length, messages[0]?.content, conversationHistory.length]).toEqual([8, "2", 10]);
  });
});

describe("R-SVC-2 one turn", () => {
  it("is begun once by requests at the same moment, and known afterwards", async () => {
    const visitor = newVisitor();
    const both = await Promise.all([ask(visitor(), { identity: "i" }), ask(visitor(), { identity: "i" })]);
    const [first, second] = both.map(begunBy);
    expect(second).toEqual(first);
    const runId = first?.runId ?? "";
    await start(runId);
    expect(await ask(visitor(), { identity: "i" })).toEqual({ begun: true, repeat: true, runId });
    await crash(visitor());
    await visitor().endTurn(answers(runId));
    expect(await ask(visitor(), { identity: "i" })).toEqual({ begun: true, repeat: true, runId });
    expect((await read(visitor())).messages).toHaveLength(2);
  });

  it("is tried again by a new run when it failed, and reads its prompt once", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    await visitor().endTurn(answers(first.runId, "Part", { outcome: "error" }));
    const second = await begin(visitor(), { identity: "i" });
    expect(second.runId).not.toBe(first.runId);
    expect(second.messages).toEqual(first.messages);
    await visitor().endTurn(answers(second.runId, "Whole"));
    const { messages, conversationHistory } = await read(visitor());
    expect(messages.map(({ content }) => content)).toEqual(["What is the weather?", "Part", "Whole"]);
    expect(conversationHistory.map(({ content }) => content)).toEqual(["What is the weather?", "Whole"]);
  });

  it("has a name of any characters, and names that differ name different turns", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "message \ud800" });
    await start(first.runId);
    const same = await ask(visitor(), { identity: "message \ud800" });
    expect(same).toEqual({ begun: true, repeat: true, runId: first.runId });
    await visitor().endTurn(answers(first.runId));
    for (const identity of ["message \udbff", "message \ufffd"]) {
      const { runId } = await begin(visitor(), { identity });
      await visitor().endTurn(answers(runId));
    }
    expect((await read(visitor())).messages).toHaveLength(6);
  });

  it("is asked anew when nothing of its run is kept, or none of its events", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    await start(first.runId);
    await visitor().endTurn(answers(first.runId));
    expect(await ask(visitor(), { identity: "i" })).toMatchObject({ repeat: true });
    await env.RUN.getByName(`local/${first.runId}`).forget();
    const second = await begin(visitor(), { identity: "i" });
    expect(second.messages).toEqual(first.messages);
    await start(second.runId, { limits: { ...limits, retentionEventsMs: 1 } });
    const run = env.RUN.getByName(`local/${second.runId}`);
    await run.cancel(undefined);
    await visitor().endTurn(answers(second.runId));
    await expect.poll(async () => run.word(), { timeout: 10_000 }).toBe("swept");
    const third = await begin(visitor(), { identity: "i" });
    expect(third.messages).toEqual(first.messages);
    expect((await read(visitor())).messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
  });

  it("without a name is the same while its run is live, and no longer", async () => {
    const visitor = newVisitor();
    const fields = { identity: "bytes", liveOnly: true };
    const first = await begin(visitor(), fields);
    await start(first.runId);
    expect(await ask(visitor(), fields)).toEqual({ begun: true, repeat: true, runId: first.runId });
    await visitor().endTurn(answers(first.runId));
    const second = await begin(visitor(), fields);
    expect(second.runId).not.toBe(first.runId);
    expect(second.messages).toHaveLength(3);
  });
});

describe("R-SVC-3 a turn whose run was never started", () => {
  it("is not shown as the running one for longer than 15 s, and can still be begun again", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    expect(await read(visitor())).toMatchObject({ activeRunId: first.runId });
    await age(visitor(), 15_000);
    expect(await read(visitor())).not.toHaveProperty("activeRunId");
    expect((await begin(visitor(), { identity: "i" })).runId).toBe(first.runId);
    await start(first.runId);
    await age(visitor(), 60_000);
    expect(await read(visitor())).toMatchObject({ activeRunId: first.runId });
  });

  it("is begun again under its name, also after the object has died", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    await crash(visitor());
    expect(await ask(visitor(), { identity: "i" })).toEqual(first);
  });

  it("is waited for by another turn, and then given up", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    const next = ask(visitor(), { prompt: "Else?" });
    await start(first.runId);
    await cancelledAs(first.runId, "superseded");
    await visitor().endTurn(answers(first.runId, "", { outcome: "cancelled" }));
    const second = begunBy(await next);
    await age(visitor(), 15_000);
    const third = await begin(visitor(), { prompt: "Third?" });
    expect(third.messages.at(-1)).toEqual({ role: "user", content: "Third?" });
    // It was given up, and runs all the same: its page still shows it.
    await visitor().endTurn(answers(second.runId, "Late."));
    const { messages, activeRunId } = await read(visitor());
    expect([messages.at(-1)?.content, activeRunId]).toEqual(["Late.", third.runId]);
  });

  it("R-SVC-19 takes back no ending that was told, unless its prompt stays", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    const finish = { finishReason: "error", error: { code: "overloaded", message: "provider overloaded" } };
    await visitor().endTurn(answers(first.runId, "", { outcome: "error", finish }));
    const told = { lastTurn: { runId: first.runId, ...finish } };
    expect(await read(visitor())).toMatchObject(told);
    const second = await begin(visitor(), { prompt: "Too large" });
    expect(await read(visitor())).not.toHaveProperty("lastTurn");
    await visitor().abandonTurn(second.runId);
    expect(await read(visitor())).toMatchObject(told);
    await begin(visitor(), { prompt: "Never started" });
    await age(visitor(), 15_000);
    const fourth = await begin(visitor(), { prompt: "Fourth?" });
    await visitor().abandonTurn(fourth.runId);
    const left = await read(visitor());
    expect(left.messages.at(-1)?.content).toBe("Never started");
    expect(left).not.toHaveProperty("lastTurn");
    // Late news of a turn that others have followed is not the latest.
    const fifth = await begin(visitor(), { prompt: "Fifth?" });
    await visitor().endTurn(answers(fifth.runId));
    await visitor().endTurn(answers(second.runId, "Late."));
    expect(await read(visitor())).toMatchObject({ lastTurn: { runId: fifth.runId, finishReason: "stop" } });
  });

  it("leaves the chat as it was when it could not be started: none, where there was none", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i", prompt: "Too large" });
    await visitor().abandonTurn(first.runId);
    expect([await visitor().list(), await visitor().read("chat")]).toEqual([[], undefined]);
    const second = await begin(visitor(), { prompt: "Small" });
    expect(await read(visitor())).toMatchObject({ title: "Small", preview: "Small", messages: [{ content: "Small" }] });
    expect(second.messages).toEqual([{ role: "user", content: "Small" }]);
    await start(second.runId);
    await visitor().abandonTurn(second.runId);
    expect(await read(visitor())).toMatchObject({ activeRunId: second.runId });
  });

  it("asks its prompt once when it is begun again after that", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { identity: "i" });
    await visitor().abandonTurn(first.runId);
    const second = await begin(visitor(), { identity: "i" });
    expect(second.messages).toEqual(first.messages);
    expect((await read(visitor())).messages).toHaveLength(1);
    await start(second.runId);
    await visitor().endTurn(answers(second.runId, "", { outcome: "error" }));
    for (let tries = 0; tries < 3; tries++) {
      const again = await begin(visitor(), { identity: "i" });
      await visitor().abandonTurn(again.runId);
    }
    expect((await read(visitor())).messages).toHaveLength(1);
  });
});

describe("R-SVC-3 a turn that is refused", () => {
  /** All that a page or a next turn can tell. */
  const standing = async (stub: Stub): Promise<unknown> => [await readIf(stub), await stub.list()];

  it("leaves the chat as it was: messages, conversation, title, version and summary, also after a death", async () => {
    const visitor = newVisitor();
    const history = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? user : assistant)(`${index}`));
    const first = await begin(visitor(), { history, prompt: "Go on", display: [shown("m1", "Go on")] });
    await visitor().endTurn(answers(first.runId));
    await visitor().summarized({ chatId: "chat", through: 22, summary: "Numbers." });
    await visitor().rename("chat", "New Chat");
    const before = await standing(visitor());
    for (const fields of [
      { prompt: "Refused" },
      { history: [user("Other")], prompt: "Refused", display: [shown("n1", "Other"), shown("m1", "Refused")] },
      { history: [assistant("x".repeat(9_000_000))], prompt: "Refused" },
    ]) {
      const refused = await begin(visitor(), fields);
      await crash(visitor());
      await visitor().abandonTurn(refused.runId);
      expect(await standing(visitor())).toEqual(before);
      expect(await visitor().owns(refused.runId)).toBe(false);
    }
    const next = await begin(visitor(), { prompt: "And?" });
    expect(next.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining("Numbers.") });
    expect(next.messages.at(-1)).toEqual({ role: "user", content: "And?" });
  });

  it("keeps what its user has done to the chat since", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { prompt: "One" });
    await visitor().endTurn(answers(first.runId));
    const refused = await begin(visitor(), { prompt: "Refused" });
    await visitor().rename("chat", "Mine");
    await visitor().abandonTurn(refused.runId);
    const { title, version, messages } = await read(visitor());
    expect([title, version, messages.length]).toEqual(["Mine", 2, 2]);
    const fresh = await begin(visitor(), { chatId: "b", prompt: "Refused" });
    await visitor().rename("b", "Mine");
    await visitor().abandonTurn(fresh.runId);
    expect(await readIf(visitor(), "b")).toBeUndefined();
  });

  it("gives its decisions back: what is decided next counts", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const before = await standing(visitor());
    const refused = await begin(visitor(), decide("a"));
    await visitor().abandonTurn(refused.runId);
    expect(await standing(visitor())).toEqual(before);
    expect(await ask(visitor(), { prompt: "Else?" })).toEqual({ begun: false, refused: "confirmation_required" });
    const denied = await begin(visitor(), { ...decide("a"), decisions: [{ toolCallId: "a", decision: "deny" }] });
    expect(carriedBy(denied)).toEqual([["a", "deny"]]);
  });

  it("which tries again what another was to carry out leaves that to the other", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const first = await begin(visitor(), decide("a"));
    await visitor().endTurn(
      ending(first.runId, [], { outcome: "error", carried: [answeredBy(approval("a"), "paid")] }),
    );
    const refused = await begin(visitor(), decide("a"));
    await visitor().abandonTurn(refused.runId);
    const again = await begin(visitor(), decide("a"));
    expect([again.carried, again.messages.at(-1)]).toEqual([[], { role: "tool", toolCallId: "a", output: "paid" }]);
  });

  it("is not taken back while somebody else may start it", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const first = await begin(visitor(), decide("a"));
    expect(await begin(visitor(), decide("a"))).toEqual(first);
    await visitor().abandonTurn(first.runId);
    await start(first.runId);
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId: first.runId });
    await visitor().endTurn(ending(first.runId, [step("Paid.")], { carried: [answeredBy(approval("a"), "paid")] }));
    expect((await read(visitor())).messages.at(-1)?.content).toBe("Paid.");
  });

  it("gives its decisions back also when the chat has gone on meanwhile", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a", "b");
    const first = await begin(visitor(), decide("a"));
    await age(visitor(), 15_000);
    const second = await begin(visitor(), decide("b"));
    await visitor().abandonTurn(first.runId);
    await visitor().endTurn(ending(second.runId, [], { carried: [answeredBy(approval("b"), "paid")] }));
    const denied = await begin(visitor(), { ...decide("a"), decisions: [{ toolCallId: "a", decision: "deny" }] });
    expect(carriedBy(denied)).toEqual([["a", "deny"]]);
  });
});

describe("R-SVC-4 a running turn", () => {
  it("goes on when the one that would follow it does not fit or has nothing to say", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { prompt: "One" });
    await start(first.runId);
    const before = await read(visitor());
    const misfits: [Partial<TurnRequest>, string][] = [
      [{ unfit: true }, "unfit"],
      [{ unknownModel: true }, "unknown_model"],
      [{ prompt: "", history: [assistant("")] }, "nothing_to_say"],
    ];
    for (const [fields, refused] of misfits) {
      expect(await ask(visitor(), fields)).toEqual({ begun: false, refused });
    }
    expect([await outcomeOf(first.runId), await read(visitor())]).toEqual([undefined, before]);
    const other = newVisitor();
    expect(await ask(other(), { prompt: "" })).toEqual({ begun: false, refused: "nothing_to_say" });
    expect([await other().list(), await tables(other())]).toEqual([[], []]);
    await begin(other(), { prompt: "Hi" });
  });

  it("is cancelled as superseded, and what it showed is stored before the next begins", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor());
    await start(first.runId);
    const [next, other] = [
      ask(visitor(), { prompt: "Else?", identity: "n" }),
      ask(visitor(), { prompt: "Else?", identity: "n" }),
    ];
    await cancelledAs(first.runId, "superseded");
    await visitor().endTurn(answers(first.runId, "Part", { outcome: "cancelled" }));
    const second = begunBy(await next);
    expect(await other).toEqual(second);
    expect(second.messages.map((message) => ("content" in message ? message.content : ""))).toEqual([
      "What is the weather?",
      "Part",
      "Else?",
    ]);
    expect((await read(visitor())).messages.map(({ content }) => content)).toEqual([
      "What is the weather?",
      "Part",
      "Else?",
    ]);
  });

  it("whose object dies while it is cancelled is told again, and when its news does not come its text is kept", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor());
    await start(first.runId);
    let deaths = 0;
    takeGate(async (at, state) => {
      if (at !== "ending") return;
      takeGate(undefined);
      deaths++;
      state.abort("crash");
      await new Promise(() => undefined);
    });
    const second = await begin(visitor(), { prompt: "Else?" });
    expect(deaths).toBe(1);
    expect(await outcomeOf(first.runId)).toMatchObject({ outcome: "cancelled", reason: "superseded" });
    // The news comes after all.
    expect(await visitor().endTurn(answers(first.runId, "Part", { outcome: "cancelled" }))).toEqual({});
    expect(await read(visitor())).toMatchObject({ activeRunId: second.runId, version: 1 });
  });

  it("that was given up and tells after all what it did has that kept, once", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "p");
    const first = await begin(visitor(), decide("p"));
    await start(first.runId);
    const second = await begin(visitor(), { prompt: "Else?" });
    expect((await read(visitor())).conversationHistory.at(-2)?.content).toContain(
      "whether it took effect is not known",
    );
    const made = answeredBy(call("late"), { sunny: true });
    const usage = { inputTokens: 7, outputTokens: 3, estimated: false };
    const carried = [answeredBy(approval("p"), { paid: true })];
    const end = ending(first.runId, [step("", made), step("Part")], { outcome: "cancelled", carried, usage });
    const { tokensUsed, version } = await read(visitor());
    for (let times = 0; times < 2; times++) await visitor().endTurn(end);
    const detail = await read(visitor());
    expect(detail).toMatchObject({ tokensUsed: tokensUsed + 10, version, activeRunId: second.runId });
    const added = [assistant("", made), tool("late", '{"sunny":true}'), assistant("Part"), user("Else?")];
    expect(detail.conversationHistory.slice(-4)).toEqual(added);
    expect(JSON.stringify(detail)).not.toContain("whether it took effect is not known");
    expect(JSON.stringify(detail.messages)).toContain('"output":{"paid":true}');
    expect(detail.messages.map(({ content }) => content)).toEqual(["Pay.", "", "Part", "Else?"]);
    // The turn that has begun since is still where it was: when it is refused, it alone goes.
    await visitor().abandonTurn(second.runId);
    const left = await read(visitor());
    expect(left.conversationHistory).toEqual(detail.conversationHistory.slice(0, -1));
    expect(left.messages).toEqual(detail.messages.slice(0, -1));
    expect(left).toMatchObject({ tokensUsed: tokensUsed + 10, lastTurn: { finishReason: "cancelled" } });
    const third = await begin(visitor(), { prompt: "Third?" });
    expect(third.messages.at(-1)).toEqual({ role: "user", content: "Third?" });
  });

  it("that began while another turn waited is found by it, and a chat that went meanwhile is begun anew", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { prompt: "One" });
    await start(first.runId);
    const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    takeGate(async (at) => {
      if (at !== "admitted") return;
      takeGate(undefined);
      reached.resolve();
      await held.promise;
    });
    const slow = ask(visitor(), { prompt: "Slow" });
    await reached.promise;
    const second = ask(visitor(), { prompt: "Two" });
    await cancelledAs(first.runId, "superseded");
    await visitor().endTurn(answers(first.runId, "1", { outcome: "cancelled" }));
    const { runId } = begunBy(await second);
    await start(runId);
    held.resolve();
    await cancelledAs(runId, "superseded");
    expect(await visitor().remove("chat")).toBe(true);
    const last = begunBy(await slow);
    expect(last.messages).toEqual([{ role: "user", content: "Slow" }]);
    expect((await read(visitor())).activeRunId).toBe(last.runId);
  });

  it("R-SVC-5 leaves its approvals to be decided when it had ended by itself", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor());
    await start(first.runId);
    const next = ask(visitor(), { prompt: "Else?" });
    await cancelledAs(first.runId, "superseded");
    await visitor().endTurn(ending(first.runId, [step("", approval("a"))]));
    expect(await next).toEqual({ begun: false, refused: "confirmation_required" });
  });
});

describe("decisions", () => {
  it("R-SVC-5 are asked for, whatever history a client brings, and need a chat", async () => {
    const visitor = newVisitor();
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: false, refused: "history_unavailable" });
    expect(await tables(visitor())).toEqual([]);
    await waiting(visitor(), "a");
    expect(await ask(visitor(), { history: [user("Forget it"), assistant("Sure")] })).toEqual({
      begun: false,
      refused: "confirmation_required",
    });
    const unknown = await begin(visitor(), decide("x"));
    expect(carriedBy(unknown)).toEqual([["a", "undecided"]]);
  });

  it("R-SVC-6 are taken once by two pages at the same moment, and known after a death", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const both = await Promise.all([
      ask(visitor(), decide("a")),
      ask(visitor(), { ...decide("a"), identity: "key k", decisions: [{ toolCallId: "a", decision: "deny" }] }),
    ]);
    const [first, second] = both.map(begunBy);
    expect(second).toEqual(first);
    expect(first?.carried).toEqual([{ ...approval("a"), decision: "approve" }]);
    const runId = first?.runId ?? "";
    await start(runId);
    await crash(visitor());
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId });
    await visitor().endTurn(ending(runId, [step("Paid.")], { carried: [answeredBy(approval("a"), "paid")] }));
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId });
    const { messages } = await read(visitor());
    expect(messages.at(-2)?.parts.at(-1)).toMatchObject({ type: "tool-result", toolCallId: "a", output: "paid" });
    expect(messages.at(-1)?.content).toBe("Paid.");
    const next = await begin(visitor(), { prompt: "Thanks" });
    expect(next.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
  });

  it("R-SVC-6 are not carried out again when their run failed: a new one goes on from what is stored", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const first = await begin(visitor(), decide("a"));
    await visitor().endTurn(
      ending(first.runId, [step("Par")], { outcome: "error", carried: [answeredBy(approval("a"), "paid")] }),
    );
    const both = await Promise.all([ask(visitor(), decide("a")), ask(visitor(), decide("a"))]);
    const [second, third] = both.map(begunBy);
    expect(third).toEqual(second);
    expect(second?.carried).toEqual([]);
    expect(second?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(second?.callIds).toEqual(["a"]);
    await start(second?.runId ?? "");
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId: second?.runId });
  });

  it("R-SVC-6 of which nobody knows the effect are never made again", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const first = await begin(visitor(), decide("a"));
    await visitor().endTurn(ending(first.runId, [], { outcome: "cancelled" }));
    const second = await begin(visitor(), decide("a"));
    expect(second.carried).toEqual([]);
    expect(second.messages.at(-1)).toMatchObject({ role: "tool", toolCallId: "a" });
    expect((await read(visitor())).messages.at(-1)?.parts.at(-1)).toMatchObject({
      type: "tool-result",
      output: { success: false },
    });
  });

  it("R-SVC-6 R-SVC-3 of a turn that was never started stay with its name", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a", "b");
    const first = await begin(visitor(), decide("a"));
    await age(visitor(), 15_000);
    const second = await begin(visitor(), decide("b"));
    expect(carriedBy(second)).toEqual([
      ["a", "undecided"],
      ["b", "approve"],
    ]);
    await visitor().endTurn(ending(second.runId, [], { carried: [answeredBy(approval("b"), "paid")] }));
    const again = await begin(visitor(), decide("a"));
    expect([again.runId, carriedBy(again)]).toEqual([first.runId, [["a", "approve"]]]);
  });

  it("R-SVC-7 wait for one another, and take results of the client's own calls", async () => {
    const visitor = newVisitor();
    const { runId } = await begin(visitor());
    const calls = [clientCall("c"), approval("a"), approval("b")];
    await visitor().endTurn(ending(runId, [step("", ...calls)], { stopReason: "tool_calls" }));
    const scrolled = { role: "tool" as const, content: "scrolled", tool_call_id: "c" };
    const part = { type: "tool-result", toolCallId: "c", toolName: "scroll", output: "scrolled" };
    const copy = { ...shown("own", "Other"), role: "assistant" as const, parts: [part, { ...part, toolCallId: "b" }] };
    const asked = { prompt: "x", history: [user("Other"), scrolled], display: [shown("u", "Other"), copy] };
    const first = await begin(visitor(), { ...decide("a"), ...asked });
    expect(carriedBy(first)).toEqual([
      ["a", "approve"],
      ["b", "undecided"],
    ]);
    expect(first.messages.at(-1)).toEqual({ role: "tool", toolCallId: "c", output: "scrolled" });
    expect((await read(visitor())).messages.map(({ id, parts }) => [id, parts.at(-1)])).toEqual([
      [`user_${runId}`, { type: "text", text: "What is the weather?" }],
      [`msg_${runId}`, part],
    ]);
    await start(first.runId);
    let settled = false;
    const next = ask(visitor(), decide("b")).finally(() => (settled = true));
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId: first.runId });
    expect([settled, await outcomeOf(first.runId)]).toEqual([false, undefined]);
    await visitor().endTurn(
      ending(first.runId, [], {
        carried: [answeredBy(approval("a"), "paid"), approval("b")],
        stopReason: "tool_calls",
      }),
    );
    const second = begunBy(await next);
    expect(carriedBy(second)).toEqual([["b", "approve"]]);
    expect(second.messages.slice(2)).toEqual([
      { role: "tool", toolCallId: "c", output: "scrolled" },
      { role: "tool", toolCallId: "a", output: "paid" },
    ]);
  });
});

it("R-SVC-7 a decision that has waited for 60 s is refused, and what is carried out goes on", async () => {
  const visitor = newVisitor();
  await waiting(visitor(), "a", "b");
  const first = await begin(visitor(), decide("a"));
  await start(first.runId);
  const asked = Date.now();
  takeGate(async (at) => {
    if (at === "ended") vi.setSystemTime(asked + 61_000);
  });
  vi.useFakeTimers({ toFake: ["Date"], now: asked });
  try {
    expect(await ask(visitor(), decide("b"))).toEqual({ begun: false, refused: "too_many_streams" });
  } finally {
    vi.useRealTimers();
  }
  expect(await outcomeOf(first.runId)).toBeUndefined();
});

describe("R-SVC-14 a chat that is deleted", () => {
  it("takes its running turn with it, whose end brings nothing back", async () => {
    const visitor = newVisitor();
    await waiting(visitor(), "a");
    const { runId } = await begin(visitor(), decide("a"));
    await start(runId);
    expect(await visitor().remove("chat")).toBe(true);
    expect(await outcomeOf(runId)).toMatchObject({ outcome: "cancelled", reason: "deleted" });
    expect(await visitor().endTurn(answers(runId))).toEqual({});
    expect([await visitor().list(), await readIf(visitor()), await visitor().owns(runId)]).toEqual([
      [],
      undefined,
      false,
    ]);
    expect(await visitor().remove("chat")).toBe(false);
    const rows = await runInDurableObject(visitor(), (_instance, { storage }) =>
      ["chat", "turn", "decision", "item"].flatMap((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    expect(rows).toEqual([]);
    expect((await begin(visitor())).messages).toHaveLength(1);
  });

  it("calls no tool in a turn that starts after all", async () => {
    const visitor = newVisitor();
    const { runId } = await begin(visitor());
    expect(await visitor().remove("chat")).toBe(true);
    const carried = { ...approval("a"), toolName: "once", decision: "approve" as const };
    const plan = planOf(runId, {
      chain: [agentTarget()],
      agent: agentPlan({ carried: [carried] }),
      chat: { visitor: visitor().name?.split("/")[1] ?? "", chatId: "chat" },
    });
    await env.RUN.getByName(`local/${runId}`).start(plan, 100);
    await cancelledAs(runId, "deleted");
    expect([...(await toolCallsOf(runId))]).toEqual([]);
  });

  it("leaves nothing of its turns in their runs, also when the object dies meanwhile", async () => {
    const visitor = newVisitor();
    const runIds: string[] = [];
    for (const prompt of ["One", "Two", "Three"]) {
      const { runId } = await begin(visitor(), { prompt });
      await env.RUN.getByName(`local/${runId}`).start(planOf(runId), 100);
      await visitor().endTurn(answers(runId));
      runIds.push(runId);
    }
    const { runId: live } = await begin(visitor(), { prompt: "Four" });
    await start(live);
    const stands = (all: readonly string[]) =>
      Promise.all(all.map((runId) => env.RUN.getByName(`local/${runId}`).exists()));
    expect(await stands(runIds)).toEqual([true, true, true]);
    takeGate(async (at, state) => {
      if (at !== "forgetting") return;
      takeGate(undefined);
      state.abort("crash");
      await new Promise(() => undefined);
    });
    await visitor()
      .remove("chat")
      .catch(() => undefined);
    await expect
      .poll(() =>
        visitor()
          .list()
          .catch(() => undefined),
      )
      .toEqual([]);
    expect(await runDurableObjectAlarm(visitor())).toBe(true);
    expect(await stands([...runIds, live])).toEqual([false, false, false, true]);
    expect(await outcomeOf(live)).toMatchObject({ outcome: "cancelled", reason: "deleted" });
    await runInDurableObject(visitor(), (_instance, { storage }) => {
      storage.sql.exec("UPDATE gone SET due = 0");
    });
    expect(await runDurableObjectAlarm(visitor())).toBe(true);
    expect(await stands([live])).toEqual([false]);
  });

  it("takes a turn with it that is only about to start", async () => {
    const visitor = newVisitor();
    const { runId } = await begin(visitor());
    expect(await visitor().remove("chat")).toBe(true);
    await start(runId);
    await cancelledAs(runId, "deleted");
  });
});

describe("R-SVC-15 a visitor's turns", () => {
  it("are counted in windows that outlive the object; repeats are not", async () => {
    const visitor = newVisitor();
    const stream = { max: 2, minutes: 1 };
    const first = await begin(visitor(), { chatId: "a", identity: "i", stream });
    await start(first.runId);
    await begin(visitor(), { chatId: "b", stream });
    await crash(visitor());
    const refused = await ask(visitor(), { chatId: "c", stream });
    expect(refused).toMatchObject({ begun: false, refused: "too_many_attempts" });
    expect(!refused.begun && "retryAfterMs" in refused ? refused.retryAfterMs : 0).toBeGreaterThan(50_000);
    expect(await ask(visitor(), { chatId: "a", identity: "i", stream })).toMatchObject({ repeat: true });
    await runInDurableObject(visitor(), (_instance, { storage }) => {
      storage.sql.exec("UPDATE throttle SET until = until - 60000");
    });
    await begin(visitor(), { chatId: "c", stream });
  });

  it("have as many places as there are, those that were never started not counted for long", async () => {
    const visitor = newVisitor();
    const fields = { activePerVisitor: 2 };
    const first = await begin(visitor(), { ...fields, chatId: "a" });
    await start(first.runId);
    const second = await begin(visitor(), { ...fields, chatId: "b" });
    await crash(visitor());
    expect(await ask(visitor(), { ...fields, chatId: "c" })).toEqual({ begun: false, refused: "too_many_streams" });
    await age(visitor(), 15_000);
    const third = await begin(visitor(), { ...fields, chatId: "c" });
    await start(third.runId);
    expect(await ask(visitor(), { ...fields, chatId: "d" })).toEqual({ begun: false, refused: "too_many_streams" });
    // Its own chat's place is its own.
    const next = ask(visitor(), { ...fields, chatId: "a" });
    await cancelledAs(first.runId, "superseded");
    await visitor().endTurn(answers(first.runId, "", { outcome: "cancelled" }));
    expect(begunBy(await next).runId).not.toBe(second.runId);
  });

  it("ask their tenant for a place, and give back what they do not need", async () => {
    const tenant = crypto.randomUUID();
    const visitor = () => env.VISITOR.getByName(`${tenant}/v`);
    const entry = { address: "a", throttle: { max: 0, minutes: 1 }, active: 1 };
    const both = await Promise.all([
      ask(visitor(), { entry, identity: "i" }),
      ask(visitor(), { entry, identity: "i" }),
    ]);
    expect(both.map((answer) => begunBy(answer).runId)).toEqual([begunBy(both[0]).runId, begunBy(both[0]).runId]);
    const other = { entry, chatId: "other" };
    expect(await ask(visitor(), other)).toEqual({ begun: false, refused: "too_many_streams" });
    await visitor().abandonTurn(begunBy(both[0]).runId);
    expect(await ask(visitor(), other)).toEqual({ begun: false, refused: "too_many_streams" });
    await visitor().abandonTurn(begunBy(both[1]).runId);
    expect(await ask(visitor(), { ...other, unknownModel: true })).toEqual({ begun: false, refused: "unknown_model" });
    await expect.poll(() => ask(visitor(), other)).toMatchObject({ begun: true });
  });
});

describe("R-SVC-16 a long conversation", () => {
  it("is summed up, and goes on from there until what was summed up changes", async () => {
    const visitor = newVisitor();
    const history = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0 ? user(`u${index}`) : assistant(`a${index}`),
    );
    const first = await begin(visitor(), { history, prompt: "Go on" });
    expect(first.messages).toHaveLength(41);
    const { summarize } = await visitor().endTurn(answers(first.runId));
    expect(summarize?.through).toBe(22);
    expect(await visitor().endTurn(answers(first.runId))).toEqual({ summarize });
    await visitor().summarized({ chatId: "chat", through: 21, summary: "Wrong." });
    await visitor().summarized({ chatId: "chat", through: 22, summary: " Letters and numbers. " });
    await crash(visitor());
    const second = await begin(visitor(), { prompt: "And?" });
    expect(second.messages).toHaveLength(22);
    expect(second.messages[0]).toMatchObject({
      role: "system",
      content: expect.stringContaining("Letters and numbers."),
    });
    expect(second.messages[1]).toEqual({ role: "user", content: "u22" });
    await visitor().endTurn(answers(second.runId));
    const whole = (await read(visitor())).conversationHistory;
    const third = await begin(visitor(), { history: whole, prompt: "Still?" });
    expect(third.messages).toHaveLength(24);
    await visitor().endTurn(answers(third.runId));
    const fourth = await begin(visitor(), { history: [user("Anew"), ...whole.slice(1)], prompt: "Still?" });
    expect(fourth.messages).toHaveLength(45);
  });
});

describe("R-SVC-18 the object", () => {
  it("has no tables before it keeps something", async () => {
    const visitor = newVisitor();
    expect([await visitor().list(), await readIf(visitor()), await visitor().hostServer()]).toEqual([
      [],
      undefined,
      undefined,
    ]);
    expect([await visitor().remove("chat"), await visitor().rename("chat", "x"), await visitor().owns("r")]).toEqual([
      false,
      false,
      false,
    ]);
    await visitor().endTurn(answers("r"));
    await visitor().abandonTurn("r");
    await visitor().summarized({ chatId: "chat", through: 1, summary: "x" });
    expect(await tables(visitor())).toEqual([]);
    expect(await runDurableObjectAlarm(visitor())).toBe(false);
  });

  it("of an earlier layout goes on as it is", async () => {
    const visitor = newVisitor();
    const first = await begin(visitor(), { prompt: "One" });
    await visitor().endTurn(answers(first.runId));
    const running = await begin(visitor(), { chatId: "b", identity: "i", prompt: "Two" });
    await runInDurableObject(visitor(), async (_instance, { storage }) => {
      storage.sql.exec("ALTER TABLE turn DROP COLUMN starters");
      storage.sql.exec("ALTER TABLE turn DROP COLUMN incomplete");
      storage.sql.exec("DROP TABLE undo");
      await storage.sync();
    });
    await crash(visitor());
    expect((await read(visitor())).messages.map(({ content }) => content)).toEqual(["One", "It rains."]);
    expect(await begin(visitor(), { chatId: "b", identity: "i", prompt: "Two" })).toEqual(running);
    await visitor().endTurn(answers(running.runId));
    expect((await read(visitor(), "b")).messages).toHaveLength(2);
    const next = await begin(visitor(), { prompt: "Next" });
    await visitor().abandonTurn(next.runId);
    expect((await read(visitor())).messages).toHaveLength(2);
  });

  it("forgets old identities, but no chat and no decision", async () => {
    const visitor = newVisitor();
    const old = await begin(visitor(), { chatId: "a" });
    await visitor().endTurn({ ...answers(old.runId), chatId: "a" });
    await waiting(visitor(), "a");
    const decided = await begin(visitor(), decide("a"));
    await start(decided.runId);
    await visitor().endTurn(answers(decided.runId));
    await age(visitor(), 30 * DAY_MS + 1);
    const recent = await begin(visitor(), { chatId: "b" });
    expect(await runDurableObjectAlarm(visitor())).toBe(true);
    expect([await visitor().owns(old.runId), await visitor().owns(recent.runId)]).toEqual([false, true]);
    expect(await visitor().list()).toHaveLength(3);
    expect(await ask(visitor(), decide("a"))).toEqual({ begun: true, repeat: true, runId: decided.runId });
    expect(await runDurableObjectAlarm(visitor())).toBe(true);
  });

  it("knows a host page's server as long as it is valid", async () => {
    const visitor = newVisitor();
    const host = { url: "https://host.example/mcp", token: "t", expiresAt: Date.now() + 60_000 };
    await visitor().keepHostServer(host);
    await crash(visitor());
    expect(await visitor().hostServer()).toEqual(host);
    expect((await begin(visitor())).hostTools).toBe(true);
    await visitor().keepHostServer({ url: host.url, expiresAt: Date.now() - 1 });
    expect(await visitor().hostServer()).toBeUndefined();
    expect((await begin(visitor(), { chatId: "b" })).hostTools).toBe(false);
  });
});
