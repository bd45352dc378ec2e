// Laws of chats: whatever clients send and however turns end, a model reads a valid conversation, and the page loses nothing.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import { visitorChats, type VisitorChats } from "../../durable-objects/visitor-chats.ts";
import { visitorStore } from "../../durable-objects/visitor-store.ts";
import type { DisplayMessage, HistoryEntry, TurnAnswer, TurnEnd, TurnRequest } from "../../schemas/chat.ts";
import type { Message, RunStatus } from "../../schemas/run.ts";
import type { CallRecord, CarriedCall } from "../../schemas/tool.ts";
import { nextMove } from "../../src/chat/turn-rules.ts";
import { approval, asking, assistant, call, clientCall, shown, tool, user } from "../unit/chats/entries.ts";

const seed = Date.now() % 2 ** 31;
console.log(`chat laws: seed ${seed}`);

const words = fc.constantFrom("", "Hello", "yes", "It rains.", "🧵 é");
const foreignId = fc.constantFrom("call_0", "call_1", "__proto__");
/** What a client may claim was said. */
const foreignEntry: fc.Arbitrary<HistoryEntry> = fc.oneof(
  words.map(user),
  words.map((text) => assistant(text)),
  fc.tuple(words, foreignId).map(([text, id]) => assistant(text, approval(id), clientCall(`${id}x`))),
  fc.tuple(foreignId, words).map(([id, text]) => tool(id, text)),
);

type Given = "nothing" | "all" | "fewer" | "results" | { foreign: HistoryEntry[] };

interface Ask {
  identity: number;
  given: Given;
  prompt: string;
  /** Which of the open calls are decided, by place. */
  decided: number[];
  ids: boolean;
}
interface End {
  outcome: TurnEnd["outcome"];
  steps: { text: string; calls: ("answered" | "client" | "approval")[] }[];
  told: boolean;
}

const ask: fc.Arbitrary<Ask> = fc.record({
  identity: fc.nat(5),
  given: fc.oneof(
    fc.constantFrom<Given>("nothing", "all", "fewer", "results"),
    fc.array(foreignEntry, { maxLength: 5 }).map((foreign) => ({ foreign })),
  ),
  prompt: words,
  decided: fc.array(fc.nat(2), { maxLength: 2 }),
  ids: fc.boolean(),
});
const end: fc.Arbitrary<End> = fc.record({
  outcome: fc.constantFrom("completed", "completed", "error", "cancelled"),
  steps: fc.array(
    fc.record({
      text: words,
      calls: fc.array(fc.constantFrom("answered", "client", "approval"), { maxLength: 3 }),
    }),
    { maxLength: 2 },
  ),
  told: fc.boolean(),
});

/** It goes on; whoever was to start it could not; it was given up, and did run. */
type Unended = "runs" | "abandoned" | "late";

/** Drives one chat as the visitor's object does, with runs that are only imagined. */
function drive(chats: VisitorChats, chatId: string, turns: readonly { ask: Ask; end: End | Unended }[]): void {
  let now = 1;
  let made = 0;
  const live = new Map<string, CarriedCall[]>();
  const late: string[] = [];
  const ended = new Map<string, RunStatus>();
  /** By turn: the chat before it, as long as nothing but the turn has changed it since. */
  const before = new Map<string, { request: TurnRequest; standing: unknown }>();
  const shownTexts = new Map<string, string>();
  const approvals = new Set<string>();
  const carriedOut = new Map<string, number>();

  const stored = () => chats.read(chatId);
  const endTurn = (runId: string, { outcome, steps, told }: End): void => {
    const carried: CallRecord[] = (live.get(runId) ?? []).map(({ decision, ...record }) => {
      if (decision === "undecided" || !told) return record;
      carriedOut.set(record.toolCallId, (carriedOut.get(record.toolCallId) ?? 0) + 1);
      return { ...record, result: { output: decision } };
    });
    // A run that leaves decisions open asks no model.
    const asks = (live.get(runId) ?? []).every(({ decision }) => decision !== "undecided");
    const made2 = asks ? steps.map((each) => ({ text: each.text, reasoning: "", calls: each.calls.map(callOf) })) : [];
    // Only the last step of a run leaves calls open.
    const whole = made2.map((each, index) =>
      index === made2.length - 1 ? each : { ...each, calls: each.calls.map(answer) },
    );
    const text = whole.map((each) => each.text).join("");
    const news: TurnEnd = { runId, chatId, at: now, outcome, text, reasoning: "", carried, steps: whole, titles: [] };
    const answered = chats.end(news, now++);
    expect(chats.end(news, now++)).toEqual(answered);
    live.delete(runId);
    ended.set(runId, outcome);
    before.clear();
    if (text !== "") shownTexts.set(`msg_${runId}`, text);
    for (const { toolCallId, confirmation, result } of whole.flatMap(({ calls }) => calls)) {
      if (confirmation === "required" && result === undefined) approvals.add(toolCallId);
    }
  };
  const callOf = (kind: "answered" | "client" | "approval"): CallRecord => {
    const id = `made_${made++}`;
    if (kind === "client") return clientCall(id);
    return kind === "approval" ? approval(id) : answer(call(id));
  };
  const answer = (record: CallRecord): CallRecord => ({ ...record, result: { output: { ok: true } } });

  /** Of some runs nothing is kept. */
  const wordOf = (runId: string): RunStatus | "unknown" => {
    if (live.has(runId)) return "running";
    return runId.endsWith("0") ? "unknown" : (ended.get(runId) ?? "unknown");
  };
  /** All that a page or a next turn can tell. */
  const standing = (request: TurnRequest): unknown => [stored(), chats.deskOf(request), chats.list()];
  /** Whoever was told to start this turn could not. */
  const abandon = (runId: string): void => {
    while (!chats.refuse(runId)) chats.undo(runId);
    chats.undo(runId);
    live.delete(runId);
    const taken = before.get(runId);
    if (taken !== undefined) expect(standing(taken.request)).toEqual(taken.standing);
    before.clear();
  };

  const begin = (request: TurnRequest): TurnAnswer | undefined => {
    const said = new Map<string, RunStatus | "unknown">();
    for (;;) {
      const desk = { ...chats.deskOf(request), said, admitted: true, verified: true };
      const move = nextMove(desk, request);
      switch (move.move) {
        case "look":
          said.set(move.runId, wordOf(move.runId));
          break;
        case "end":
          endTurn(move.turn.runId, {
            outcome: "cancelled",
            steps: [{ text: "Part", calls: ["approval"] }],
            told: true,
          });
          said.clear();
          break;
        case "begin": {
          const runId = move.runId ?? `${chatId}_run_${now}`;
          const beforeIt = standing(request);
          const misfit = chats.misfit(request, move, now);
          expect(standing(request)).toEqual(beforeIt);
          const answer = chats.begin(request, move, runId, now++, false);
          expect(answer.begun ? undefined : answer).toEqual(misfit);
          if (answer.begun) before.set(runId, { request, standing: beforeIt });
          return answer;
        }
        case "again":
          chats.touch(move.runId, now++);
          return chats.answerFor(move.runId, false);
        case "repeat":
        case "refuse":
        case "admit":
        case "verify":
          return undefined;
      }
    }
  };

  for (const turn of turns) {
    const answered = begin(requestOf(chatId, turn.ask, stored()));
    if (answered?.begun === true && !answered.repeat) {
      expectValid(answered.messages, answered.carried);
      expect(idsOf(answered.messages).filter((id) => !answered.callIds.includes(id))).toEqual([]);
      live.set(answered.runId, answered.carried);
      if (typeof turn.end === "object") endTurn(answered.runId, turn.end);
      else if (turn.end === "abandoned") abandon(answered.runId);
      else if (turn.end === "late") {
        chats.lose(answered.runId);
        before.clear();
        late.push(answered.runId);
      }
    }
    const overdue = late.length > 1 ? late.shift() : undefined;
    if (overdue !== undefined && live.has(overdue)) {
      endTurn(overdue, { outcome: "completed", steps: [{ text: "Late.", calls: [] }], told: true });
    }
    const chat = stored();
    const messages = chat?.messages ?? [];
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    for (const [id, text] of shownTexts) expect(messages.find((message) => message.id === id)?.content).toBe(text);
    const open = openIn(chat?.conversationHistory ?? []);
    // Settled where the page shows it, or still waiting: and nothing else waits.
    expect([...approvals].filter((id) => !open.has(id) && !hasResult(messages, id))).toEqual([]);
    expect([...open].filter((id) => !approvals.has(id))).toEqual([]);
    expect([...carriedOut.values()].filter((times) => times > 1)).toEqual([]);
  }
}

function requestOf(chatId: string, each: Ask, chat: ReturnType<VisitorChats["read"]>): TurnRequest {
  const history = chat?.conversationHistory ?? [];
  const open = [...openIn(history)];
  const results = history.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => tool(id, "done")));
  const given =
    each.given === "nothing"
      ? []
      : each.given === "all"
        ? history
        : each.given === "fewer"
          ? history.slice(0, Math.floor(history.length / 2))
          : each.given === "results"
            ? results
            : each.given.foreign;
  const asked = each.prompt === "" ? [] : [shown(each.ids ? `u${each.identity}` : "1", each.prompt)];
  const known = each.given === "all" ? (chat?.messages ?? []) : [];
  return asking({
    chatId,
    identity: `${each.identity}`,
    history: given,
    prompt: each.prompt,
    display: [...known.filter(({ id }) => asked.every((message) => message.id !== id)), ...asked],
    decisions: each.decided.flatMap((place) => {
      const toolCallId = open[place];
      return toolCallId === undefined ? [] : [{ toolCallId, decision: place === 0 ? "approve" : "deny" }];
    }),
  });
}

const idsOf = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId) : [],
  );

/** What every provider asks for: each call answered directly after its message, once, and no other result. */
function expectValid(messages: readonly Message[], carried: readonly CarriedCall[]): void {
  const open = new Set(carried.map(({ toolCallId }) => toolCallId));
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      expect(due).toContain(message.toolCallId);
      due = due.filter((id) => id !== message.toolCallId);
      continue;
    }
    expect(due).toEqual([]);
    if (message.role === "assistant") {
      expect(message.content ?? message.toolCalls).not.toHaveLength(0);
      due = (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId);
    } else expect(message.content).not.toHaveLength(0);
  }
  // Only the very last calls may wait: their results come first thing in the run.
  expect(due.filter((id) => !open.has(id))).toEqual([]);
  expect([...open].filter((id) => !due.includes(id))).toEqual([]);
}

function openIn(history: readonly HistoryEntry[]): Set<string> {
  const answered = new Set(history.flatMap(({ tool_call_id }) => tool_call_id ?? []));
  return new Set(
    history
      .flatMap(({ tool_calls = [] }) => tool_calls)
      .filter(({ id, execution, confirmation }) => {
        return execution === "server" && confirmation === "required" && !answered.has(id);
      })
      .map(({ id }) => id),
  );
}

const hasResult = (messages: readonly DisplayMessage[], id: string): boolean =>
  messages.some(({ parts }) => parts.some(({ type, toolCallId }) => type === "tool-result" && toolCallId === id));

it("R-SVC-8 R-SVC-10 R-SVC-6 R-SVC-9 hold for every conversation", { timeout: 120_000 }, async () => {
  const stub = env.VISITOR.getByName(`local/${crypto.randomUUID()}`);
  await runInDurableObject(stub, (_instance, { storage }) => {
    const chats = visitorChats(storage, visitorStore(storage));
    let number = 0;
    const turn = fc.record({
      ask,
      end: fc.oneof({ weight: 4, arbitrary: end }, fc.constantFrom<Unended>("runs", "abandoned", "late")),
    });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), (turns) => {
        drive(chats, `chat-${number++}`, turns);
      }),
      { seed, numRuns: 250, endOnFailure: false },
    );
  });
});
