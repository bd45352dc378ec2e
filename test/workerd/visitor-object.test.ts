// The visitor's object inside workerd: which turn begins, what a model is given, what stays of it, and what a death in between changes.
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { VisitorObject } from "../../durable-objects/visitor-object.ts";
import type { ChatDetail, TurnAnswer, TurnEnd, TurnRequest } from "../../schemas/chat.ts";

afterEach(() => takeGate(undefined));

type Stub = DurableObjectStub<VisitorObject>;
type Begun = Extract<TurnAnswer, { begun: true; repeat: false }>;

/** Always a fresh stub: one whose object has died stays broken. */
const newVisitor = (): (() => Stub) => {
  const name = `local/${crypto.randomUUID()}`;
  return () => env.VISITOR.getByName(name);
};

function asking(fields: Partial<TurnRequest> = {}): TurnRequest {
  return {
    chatId: "chat",
    identity: crypto.randomUUID(),
    liveOnly: false,
    display: [],
    history: [],
    prompt: "What is the weather?",
    decisions: [],
    stream: { max: 0, minutes: 1 },
    activePerVisitor: 0,
    unknownModel: false,
    ...fields,
  };
}

async function ask(stub: Stub, fields: Partial<TurnRequest> = {}): Promise<TurnAnswer> {
  return stub.beginTurn(asking(fields));
}

async function begin(stub: Stub, fields: Partial<TurnRequest> = {}): Promise<Begun> {
  const answer = await ask(stub, fields);
  if (!answer.begun || answer.repeat) throw new Error(`not begun: ${JSON.stringify(answer)}`);
  return answer;
}

function ending(runId: string, fields: Partial<TurnEnd> = {}): TurnEnd {
  const { text = "It rains.", reasoning = "", calls = [] } = { ...fields, ...fields.steps?.[0] };
  return {
    runId,
    chatId: "chat",
    at: 0,
    outcome: "completed",
    stopReason: "stop",
    text,
    reasoning,
    carried: [],
    steps: [{ text, reasoning, calls }],
    titles: [],
    ...fields,
  };
}

async function read(stub: Stub, chatId = "chat"): Promise<ChatDetail> {
  const detail: ChatDetail | undefined = await stub.read(chatId);
  if (detail === undefined) throw new Error("no such chat");
  return detail;
}

describe("chats", () => {
  it("R-SVC-1 belong to their visitor alone", async () => {
    const [visitor, other] = [newVisitor(), newVisitor()];
    const { runId, messages, title } = await begin(visitor());
    expect(messages).toEqual([{ role: "user", content: "What is the weather?" }]);
    expect(title).toEqual({ provisional: "What is the weather?", generate: true });
    expect(await visitor().endTurn(ending(runId))).toEqual({});
    expect(await other().list()).toEqual([]);
    expect(await other().read("chat")).toBeUndefined();
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
});
