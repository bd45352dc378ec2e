// Runs with tools whose object dies at any await: no tool is called twice that must not be, every reader ends with the same, and the chat has it.
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { afterEach, describe, expect, it } from "vitest";
import { takeGate } from "../../durable-objects/gate.ts";
import type { VisitorObject } from "../../durable-objects/visitor-object.ts";
import type { TurnAnswer } from "../../schemas/chat.ts";
import type { RunPlan } from "../../schemas/plan.ts";
import { callableNow } from "../../src/run/call-tools.ts";
import { crashAt, crashes, expectWhole, readThrough, shown, view, type Event } from "./crashing.ts";
import { agentPlan, agentTarget, limits, planOf, toolCallsOf } from "./plan.ts";

afterEach(() => takeGate(undefined));

const detailSchema = v.object({
  title: v.string(),
  activeRunId: v.optional(v.string()),
  messages: v.array(v.object({ role: v.string(), content: v.string() })),
});

const WHOLE = "Looking. More. Done.";

interface Lived {
  runId: string;
  name: string;
  all: Event[];
  late: Event[];
  crash: string | undefined;
}

/** Starts the run and reads it to its end, with the object dying at `moment`. `undefined`: it died before there was a run. */
async function live(runId: string, moment: number | string, fields: Partial<RunPlan>): Promise<Lived | undefined> {
  const name = `local/${runId}`;
  crashAt(name, moment);
  const plan = planOf(runId, {
    chain: [agentTarget()],
    agent: agentPlan(),
    limits: { ...limits, flushMs: 3_600_000 },
    ...fields,
  });
  try {
    await env.RUN.getByName(name).start(plan, 100);
  } catch {
    if ((await view(name)) === undefined) return undefined;
  }
  const all: Event[] = [];
  await readThrough(name, all);
  const late: Event[] = [];
  await readThrough(name, late);
  return { runId, name, all, late, crash: crashes.get(name) };
}

const payloads = (events: readonly Event[], type: string): Record<string, unknown>[] =>
  events.filter((event) => event.type === type).map(({ payload }) => payload);

/** What holds wherever the object died: of its tools, and of what its readers see. */
async function expectKept({ runId, all, late }: Lived): Promise<void> {
  expectWhole(all);
  expectWhole(late);
  expect(shown(all)).toBe(shown(late));
  const counts = await toolCallsOf(runId);
  for (const [call, count] of counts) expect(count, call).toBeLessThanOrEqual(call.startsWith("/tools/again") ? 2 : 1);
  const results = payloads(late, "tool_result");
  const ids = results.map(({ toolCallId }) => toolCallId);
  expect(new Set(ids).size).toBe(ids.length);
  // A tool that a reader is told to have answered was asked.
  for (const { toolCallId, toolName, isError } of results) {
    if (isError !== true) expect(counts.get(`/tools/${String(toolName)} ${String(toolCallId)}`)).toBeGreaterThan(0);
  }
  const end = late.at(-1)?.payload;
  const open = payloads(late, "tool_call").filter(({ toolCallId }) => !ids.includes(toolCallId));
  expect(open).toEqual([]);
  if (end?.["outcome"] === "completed") expect(end["finalText"]).toBe(WHOLE);
  else expect(end?.["error"]).toMatchObject({ details: { code: "interrupted" } });
}

/** Walks the run's awaits until one run has lived through all of them; gives the names of those it died at. */
async function walk(
  fields: () => Promise<{ runId: string; fields: Partial<RunPlan> }>,
  check: (lived: Lived) => Promise<void>,
  also: readonly string[],
): Promise<Set<string>> {
  const reached = new Set<string>();
  let lost = 0;
  const dies = async (moment: number | string): Promise<boolean> => {
    const made = await fields();
    const lived = await live(made.runId, moment, made.fields);
    takeGate(undefined);
    if (lived === undefined) {
      lost++;
      return true;
    }
    await check(lived);
    if (lived.crash !== undefined) reached.add(lived.crash);
    return lived.crash !== undefined;
  };
  for (let moment = 0; await dies(moment); moment++);
  for (const name of also) if (!reached.has(name)) expect(await dies(name), name).toBe(true);
  expect(lost).toBeLessThanOrEqual(3);
  return reached;
}

const policies = (onMidStreamFailure: RunPlan["policies"]["onMidStreamFailure"]): RunPlan["policies"] => ({
  replaces: true,
  onDisconnect: "continue",
  onMidStreamFailure,
  durability: "standard",
  telemetry: false,
});

/** A first turn of the visitor's chat `chat`. */
async function begin(visitor: DurableObjectStub<VisitorObject>): Promise<TurnAnswer> {
  return visitor.beginTurn({
    chatId: "chat",
    identity: "turn",
    liveOnly: false,
    display: [],
    history: [],
    prompt: "What is there?",
    decisions: [],
    stream: { max: 0, minutes: 1 },
    activePerVisitor: 0,
    unknownModel: false,
    maxConversationBytes: 1_000_000,
  });
}

describe("a run with tools", () => {
  for (const policy of ["fail", "retract"] as const) {
    it(
      `R-TOOL-1 R-STEP-11 R-DUR-5 R-DUR-7 calls no tool twice that must not be, wherever its object dies, with ${policy}`,
      { timeout: 120_000 },
      async () => {
        let interrupted = 0;
        const reached = await walk(
          async () => ({ runId: crypto.randomUUID(), fields: { policies: policies(policy) } }),
          async (lived) => {
            await expectKept(lived);
            const end = lived.late.at(-1)?.payload;
            if (lived.crash === undefined) {
              expect(payloads(lived.late, "tool_result")).toEqual([
                expect.objectContaining({ output: expect.anything() }),
                expect.objectContaining({ output: expect.anything() }),
                { toolCallId: "c", toolName: "once", output: { done: "/tools/once" } },
              ]);
              expect([...(await toolCallsOf(lived.runId)).values()]).toEqual([1, 1, 1]);
            }
            if (end?.["outcome"] === "error") interrupted++;
            // The object dies while tools run: the run goes on with what is known of them.
            if (lived.crash === "calling" || lived.crash === "called") expect(end?.["outcome"]).toBe("completed");
          },
          ["calling", "called", "ending", "released"],
        );
        for (const name of ["accept confirmed", "flush written", "flush confirmed", "calling", "called", "ending"]) {
          expect([...reached]).toContain(name);
        }
        console.log(`died at ${[...reached].join(", ")}; ${interrupted} ended as interrupted`);
      },
    );
  }

  it(
    "R-STEP-13 R-TOOL-1 makes an approved call once, wherever the object of the run that carries it dies",
    { timeout: 120_000 },
    async () => {
      const calls = [
        { toolCallId: "a", toolName: "once", input: {}, execution: "server", confirmation: "required" },
        { toolCallId: "b", toolName: "again", input: {}, execution: "server", confirmation: "required" },
      ] as const;
      const agent = agentPlan({
        carried: callableNow(
          calls.map((call) => ({ ...call, decision: "approve" as const })),
          agentPlan(),
        ),
        callIds: ["a", "b"],
      });
      const message = {
        role: "assistant" as const,
        content: "Looking. ",
        toolCalls: calls.map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input })),
      };
      const request: RunPlan["request"] = {
        schemaVersion: "1.0",
        task: { kind: "text_to_text" },
        messages: [{ role: "user", content: "Go." }, message],
      };
      await walk(
        async () => ({ runId: crypto.randomUUID(), fields: { agent, request, policies: policies("retract") } }),
        async (lived) => {
          const { late, runId } = lived;
          expectWhole(late);
          const counts = await toolCallsOf(runId);
          expect(counts.get("/tools/once a") ?? 0).toBeLessThanOrEqual(1);
          expect(counts.get("/tools/once c") ?? 0).toBeLessThanOrEqual(1);
          const [first, second] = payloads(late, "tool_result");
          expect([first, second]).toEqual([
            expect.objectContaining({ decision: "approve" }),
            expect.objectContaining({ decision: "approve" }),
          ]);
          if (lived.crash === undefined) expect([...counts.values()]).toEqual([1, 1, 1]);
        },
        ["calling", "called"],
      );
    },
  );

  it(
    "R-CHAT-1 R-TITLE-1 the chat has the turn as its readers saw it, once, wherever the run's object dies",
    { timeout: 120_000 },
    async () => {
      const turns = new Map<string, () => Promise<unknown>>();
      await walk(
        async () => {
          const visitor = crypto.randomUUID();
          const stub = () => env.VISITOR.getByName(`local/${visitor}`);
          const begun = await begin(stub());
          if (!begun.begun || begun.repeat) throw new Error("the turn has not begun");
          turns.set(begun.runId, () => stub().read("chat"));
          const agent = agentPlan({ title: begun.title });
          const chat = { visitor, chatId: "chat" };
          return { runId: begun.runId, fields: { agent, chat, policies: policies("retract") } };
        },
        async (lived) => {
          await expectKept(lived);
          const detail = v.parse(detailSchema, await turns.get(lived.runId)?.());
          expect(detail.activeRunId).toBeUndefined();
          const said = detail.messages.filter(({ role }) => role === "assistant");
          expect(said.map(({ content }) => content)).toEqual([shown(lived.late)]);
          if (lived.crash === undefined) {
            expect(lived.late.at(-1)?.payload["titles"]).toEqual(["What is there?", "An aside"]);
            expect(detail.title).toBe("An aside");
          }
        },
        ["told", "titled"],
      );
    },
  );
});
