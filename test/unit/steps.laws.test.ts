// Laws of the agent loop: for any models, tools, decisions, crashes and ends that fast-check thinks of.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { CarriedCall } from "../../schemas/tool.ts";
import type { Charter } from "../../src/run/state.ts";
import { agent, charter, cut, done, fails, snapshot, stopped, text } from "./scenarios/drive.ts";
import { storedFaults } from "./scenarios/invariants.ts";
import { stepFaults } from "./scenarios/step-invariants.ts";
import { apply, happen, logOf, worldOf, type Happening, type Turn, type World } from "./scenarios/step-world.ts";

const seed = Number(process.env["LAW_SEED"] ?? Date.now() % 2 ** 31);
console.log(`step laws: LAW_SEED=${seed}`);
const runs = (numRuns: number) => ({ seed, numRuns, endOnFailure: true });

const words = fc.constantFrom("", " ", "Hello", "Hello there", "é", "日本", "🧵");
const toolName = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("look", "look_again") },
  { weight: 2, arbitrary: fc.constantFrom("ask_first", "ask_again", "page", "nobody") },
);
const toolCallId = fc.constantFrom("c1", "c1", "c2", "c1_2", "__proto__");
const json = fc.oneof(
  words,
  fc.constant(null),
  fc.dictionary(fc.constantFrom("city", "apiKey", "constructor", "__proto__"), words, { maxKeys: 2 }),
  fc.constant([{ secret: 1 }]),
);
const record = fc.dictionary(fc.constantFrom("city", "nextToken", "constructor", "__proto__"), words, { maxKeys: 2 });

const event: fc.Arbitrary<ProviderEvent> = fc.oneof(
  { weight: 4, arbitrary: words.map(text) },
  { weight: 1, arbitrary: words.map((value): ProviderEvent => ({ type: "reasoning", text: value })) },
  { weight: 1, arbitrary: words.map(snapshot) },
  {
    weight: 6,
    arbitrary: fc
      .record({ toolCallId, toolName, input: record })
      .map((fields): ProviderEvent => ({ type: "tool_call", ...fields })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ toolCallId, toolName, inputText: words })
      .map((fields): ProviderEvent => ({ type: "tool_call_delta", ...fields })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ProviderEvent>(
      { type: "usage", usage: { inputTokens: 5, outputTokens: 2 } },
      { type: "usage", usage: { totalTokens: 9 } },
    ),
  },
);
const verdict: fc.Arbitrary<ProviderEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(stopped("stop"), stopped("tool_calls"), done()) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<ProviderEvent>(stopped("length"), stopped("content_filter"), {
      type: "verdict",
      verdict: "complete",
      stopReason: "continue",
    }),
  },
  { weight: 1, arbitrary: words.map((value) => done(value)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(cut, fails("overloaded"), fails("invalid_request"), fails("rate_limited")),
  },
);
const answer = fc.tuple(fc.array(event, { maxLength: 4 }), verdict).map(([events, end]) => [...events, end]);

const returns: fc.Arbitrary<Happening> = fc
  .record({ which: fc.nat(5), output: json, isError: fc.boolean() })
  .map((fields) => ({ type: "returns", ...fields }));
/** A step as it should be, so that runs come far enough. */
const goodStep: fc.Arbitrary<Happening[]> = fc
  .tuple(
    words,
    fc.array(fc.record({ toolCallId, toolName: fc.constantFrom("look", "look_again"), input: record }), {
      minLength: 1,
      maxLength: 2,
    }),
    returns,
    returns,
  )
  .map(([said, calls, first, second]) => [
    {
      type: "says",
      events: [text(said), ...calls.map((call): ProviderEvent => ({ type: "tool_call", ...call })), stopped("stop")],
    },
    { type: "flush" },
    first,
    second,
  ]);

const anything: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: answer.map((events): Happening => ({ type: "says", events })) },
  { weight: 3, arbitrary: fc.array(event, { maxLength: 3 }).map((events): Happening => ({ type: "says", events })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ attempt: fc.nat(3), events: answer })
      .map((fields): Happening => ({ type: "late", ...fields })),
  },
  { weight: 6, arbitrary: fc.constant<Happening>({ type: "flush" }) },
  { weight: 8, arbitrary: returns },
  { weight: 1, arbitrary: toolCallId.map((id): Happening => ({ type: "stray", toolCallId: id })) },
  { weight: 1, arbitrary: fc.constant<Happening>({ type: "progress" }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Happening>({ type: "title" }, { type: "title", title: "Better" }, { type: "retry" }),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ type: "hedge" }) },
  {
    weight: 3,
    arbitrary: fc
      .record({ kept: fc.nat(3), seen: fc.nat(2) })
      .map((fields): Happening => ({ type: "crash", ...fields })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Happening>({ type: "cancel", reason: "r" }, { type: "cancel" }, { type: "deadline" }),
  },
);
const happenings: fc.Arbitrary<Happening[]> = fc
  .array(
    fc.oneof({ weight: 3, arbitrary: anything.map((happening) => [happening]) }, { weight: 1, arbitrary: goodStep }),
    { maxLength: 16, size: "max" },
  )
  .map((parts) => parts.flat());

const carriedCalls: fc.Arbitrary<CarriedCall[]> = fc
  .array(
    fc.record({
      toolName: fc.constantFrom("look", "look_again", "ask_first", "ask_again", "gone"),
      input: record,
      decision: fc.constantFrom("approve" as const, "approve" as const, "deny" as const, "undecided" as const),
    }),
    { maxLength: 3 },
  )
  .map((calls) =>
    calls.map((call, index) => ({
      toolCallId: ["c1", "c2", "old"][index] ?? "x",
      execution: "server" as const,
      confirmation: "required" as const,
      ...call,
    })),
  );

const charters: fc.Arbitrary<Charter> = fc
  .record({
    targets: fc.integer({ min: 1, max: 3 }),
    retries: fc.nat(1),
    continues: fc.boolean(),
    replaces: fc.boolean(),
    hedgeAfterMs: fc.constantFrom(undefined, 500),
    onMidStreamFailure: fc.constantFrom("fail" as const, "retract" as const, "continue" as const),
    maxOutputBytes: fc.oneof({ weight: 4, arbitrary: fc.constant(1_000_000) }, { weight: 1, arbitrary: fc.nat(60) }),
    maxRecoveries: fc.integer({ min: 0, max: 6 }),
    maxSteps: fc.integer({ min: 1, max: 4 }),
    carried: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, carriedCalls),
    callIds: fc.constantFrom([], ["c1"], ["c1", "c1_2", "c2"]),
    title: fc.constantFrom(undefined, { provisional: "Words", generate: true }, { provisional: "", generate: true }),
    tooled: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
  })
  .map(({ targets, retries, continues, maxSteps, carried, callIds, title, tooled, ...fields }) => {
    const names = tooled ? ["look", "look_again", "ask_first", "ask_again"] : [];
    const of = charter(["a", "b", "c"].slice(0, targets), {
      ...fields,
      asks: { promptBytes: 40, tools: tooled, json: false, clientTools: ["page"] },
      agent: agent(names, { maxSteps, carried, callIds, ...(title !== undefined && { title }) }),
    });
    return { ...of, chain: of.chain.map((target) => ({ ...target, retries, continues })) };
  });

function check(world: World, turn: Turn): void {
  const wrong = stepFaults(world, turn);
  if (wrong.length > 0) expect.fail(`${wrong.join("; ")} after ${JSON.stringify(turn.input)} in ${show(world)}`);
}

const show = (world: World): string =>
  logOf(world)
    .map(({ type, payload }) => `\n${type} ${JSON.stringify(payload)}`)
    .join("");

function play(of: Charter, script: readonly Happening[], seen: (world: World, turn: Turn) => void): World {
  const world = worldOf(of);
  apply(world, { type: "start", at: of.startedAt }, seen);
  for (const happening of script) happen(world, happening, seen);
  return world;
}

const laws =
  "R-LOG-2 R-STEP-1 R-STEP-2 R-STEP-3 R-STEP-4 R-STEP-5 R-STEP-7 R-STEP-8 R-STEP-10 R-STEP-11 R-STEP-12 R-STEP-13 R-DIAL-1";

test(`${laws} every invariant holds after every input`, () => {
  fc.assert(
    fc.property(charters, happenings, (of, script) => {
      play(of, script, check);
    }),
    runs(3000),
  );
});

test("R-LOG-6 R-STEP-2 every event is valid, and the log alone gives back the state but for what it does not hold yet", () => {
  fc.assert(
    fc.property(charters, happenings, (of, script) => {
      play(of, script, (world) => {
        expect(storedFaults({ state: world.state, events: logOf(world), effects: [] })).toEqual([]);
      });
    }),
    runs(400),
  );
});

test("R-STEP-3 R-STEP-5 R-TITLE-1 whatever has happened, a run whose models answer and whose tools return comes to its end", () => {
  fc.assert(
    fc.property(charters, happenings, (of, script) => {
      const world = play(of, script, check);
      const rest: Happening[] = [
        { type: "flush" },
        { type: "returns", which: 0, output: "late", isError: false },
        { type: "returns", which: 0, output: "late", isError: false },
        { type: "returns", which: 0, output: "late", isError: false },
        { type: "retry" },
        { type: "says", events: [stopped("stop")] },
        { type: "title" },
      ];
      for (let round = 0; round < 12 && world.state.phase !== "sealed"; round++) {
        for (const happening of rest) happen(world, happening, check);
      }
      expect(world.state.phase, show(world)).toBe("sealed");
    }),
    runs(1000),
  );
});
