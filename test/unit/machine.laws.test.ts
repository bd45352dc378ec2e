// Laws of the run machine: for every interleaving of inputs that fast-check thinks of, and for every one there is up to a length.
import fc from "fast-check";
import { expect, test } from "vitest";
import { failureClassSchema } from "../../schemas/failure.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { transition, type Input } from "../../src/run/machine.ts";
import { initialState, liveAttempt, type Charter, type Found } from "../../src/run/state.ts";
import { charter, cut, done, EPOCH, fails, shown, snapshot, stopped, text } from "./scenarios/drive.ts";
import { extend, faults, historyOf, storedFaults, type History } from "./scenarios/invariants.ts";

const seed = Number(process.env["LAW_SEED"] ?? Date.now() % 2 ** 31);
const runs = (numRuns: number) => ({ seed, numRuns, endOnFailure: true });
console.log(`machine laws: LAW_SEED=${seed}`);

const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", "Hello", "é", "日本", "🧵🧵", "\n"),
);
const callId = fc.constantFrom("call_0", "call_1", "__proto__");
const usage = fc.record(
  { inputTokens: fc.nat(99), outputTokens: fc.nat(99), totalTokens: fc.nat(99), reasoningTokens: fc.nat(9) },
  { requiredKeys: [] },
);
const toolInput = fc.dictionary(fc.constantFrom("city", "apiKey", "nextToken", "n"), fc.oneof(words, fc.nat()), {
  maxKeys: 3,
});

const providerEvent: fc.Arbitrary<ProviderEvent> = fc.oneof(
  { weight: 6, arbitrary: words.map(text) },
  { weight: 2, arbitrary: words.map((value): ProviderEvent => ({ type: "reasoning", text: value })) },
  { weight: 1, arbitrary: words.map(snapshot) },
  {
    weight: 2,
    arbitrary: fc
      .record({ toolCallId: callId, inputText: words })
      .map((fields): ProviderEvent => ({ type: "tool_call_delta", toolName: "weather", ...fields })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ toolCallId: callId, input: toolInput })
      .map((fields): ProviderEvent => ({ type: "tool_call", toolName: "weather", ...fields })),
  },
  { weight: 1, arbitrary: fc.constantFrom("m-1", "m-2").map((model): ProviderEvent => ({ type: "model", model })) },
  { weight: 1, arbitrary: usage.map((value): ProviderEvent => ({ type: "usage", usage: value })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ProviderEvent>(
      { type: "finishing" },
      { type: "diagnostic", code: "parameter_unsupported", parameter: "seed" },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.oneof(
      words.map((value) => done(value)),
      fc.constantFrom(done(), stopped("stop"), stopped("length"), stopped("tool_calls"), stopped("content_filter")),
      fc.constantFrom<ProviderEvent>(cut, { type: "verdict", verdict: "aborted" }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...failureClassSchema.options),
        fc.record({ httpStatus: fc.integer({ min: 400, max: 599 }), retryAfterMs: fc.nat(9999) }, { requiredKeys: [] }),
      )
      .map(([failureClass, fields]) => fails(failureClass, fields)),
  },
);

const at = fc.integer({ min: EPOCH - 5000, max: EPOCH + 60_000 });
const provider: fc.Arbitrary<Input> = fc.record({
  type: fc.constant("provider" as const),
  at,
  attempt: fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat(3) }),
  events: fc.array(providerEvent, { maxLength: 5 }),
});
const ending: fc.Arbitrary<Input> = fc.oneof(
  fc.record({ type: fc.constantFrom("deadline" as const, "start" as const), at }),
  fc.record({ type: fc.constantFrom("retry" as const, "retry" as const, "hedge" as const), at }),
  fc.record({ type: fc.constant("recover" as const), at, reservedTo: fc.nat(40), damaged: fc.boolean() }),
  fc.record({ type: fc.constant("resume" as const), at, recoveries: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ type: fc.constant("cancel" as const), at, reason: words }),
  fc.record({ type: fc.constant("cancel" as const), at }),
);
/** What comes of a research; to a run that makes none it means nothing. */
const found: fc.Arbitrary<Found> = fc.record(
  { retrieval: fc.constant({ hits: [{ rank: 1 }] }), refusal: fc.constantFrom("", "N") },
  { requiredKeys: [] },
);
const failure = fc
  .constantFrom(...failureClassSchema.options)
  .map((failureClass) => ({ failureClass, message: `Failed as ${failureClass}.` }));
const aside: fc.Arbitrary<Input> = fc
  .record({ targetId: fc.constant("a"), startedAt: at, usage, failure }, { requiredKeys: ["targetId", "startedAt"] })
  .chain((fields) => at.map((time): Input => ({ type: "aside", at: time, ...fields })));
const researched: fc.Arbitrary<Input> = fc.record({
  type: fc.constant("researched" as const),
  at,
  found,
  promptBytes: fc.nat(99),
});
const research: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 1,
    arbitrary: at.map((time): Input => ({
      type: "preparing",
      at: time,
      progress: { providerId: "a", task: "decide" },
    })),
  },
  { weight: 3, arbitrary: aside },
  { weight: 5, arbitrary: researched },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("research_failed" as const),
      at,
      failures: fc.array(failure, { maxLength: 3 }),
    }),
  },
);
const inputs = fc
  .tuple(
    fc.array(research, { maxLength: 3 }),
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: provider },
        { weight: 1, arbitrary: ending },
        { weight: 1, arbitrary: research },
      ),
      { maxLength: 16 },
    ),
  )
  .map((parts) => parts.flat());
const charters: fc.Arbitrary<Charter> = fc
  .record({
    targets: fc.integer({ min: 1, max: 4 }),
    retries: fc.nat(2),
    continues: fc.boolean(),
    tools: fc.boolean(),
    json: fc.boolean(),
    hedgeAfterMs: fc.constantFrom(undefined, 500),
    onMidStreamFailure: fc.constantFrom("fail" as const, "retract" as const, "continue" as const),
    maxOutputBytes: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 40 })),
    researches: fc.boolean(),
  })
  .map(({ targets, retries, continues, tools, json, ...fields }) => {
    const of = charter(["a", "b", "c", "d"].slice(0, targets), { ...fields, asks: { promptBytes: 40, tools, json } });
    return { ...of, chain: of.chain.map((target) => ({ ...target, retries, continues })) };
  });

/** Attempt -1 stands for the one that is live when the input comes: most of what happens comes from it. */
function aim(history: History, input: Input): Input {
  if (input.type !== "provider" || input.attempt >= 0) return input;
  return { ...input, attempt: Math.max(0, history.state.attempts.length - 1) };
}

function play(of: Charter, script: readonly Input[], check: (before: History, input: Input, after: History) => void) {
  let history = historyOf(initialState(of));
  for (const raw of [{ type: "start", at: of.startedAt } as const, ...script]) {
    const input = aim(history, raw);
    const step = transition(history.state, input);
    expect(faults(history, input, step)).toEqual([]);
    const after = extend(history, step);
    check(history, input, after);
    history = after;
  }
  return history;
}

test("R-LOG-1 R-LOG-2 R-LOG-3 R-LOG-4 R-FALL-2 R-FALL-5 R-FALL-6 R-FALL-7 R-OUT-3 R-CANCEL-1 every invariant holds after every input", () => {
  fc.assert(
    fc.property(charters, inputs, (of, script) => {
      play(of, script, () => undefined);
    }),
    runs(2000),
  );
});

test("R-LOG-6 every event is valid, and the log alone gives back the state but for what it does not hold yet", () => {
  fc.assert(
    fc.property(charters, inputs, (of, script) => {
      play(of, script, (_before, _input, after) => expect(storedFaults(after)).toEqual([]));
    }),
    runs(400),
  );
});

test("R-FALL-10 R-USAGE-1 R-USAGE-2 the outcome's usage is the sum of the last report of every attempt, or its estimate", () => {
  fc.assert(
    fc.property(charters, inputs, (of, script) => {
      const reported = new Map<number, Record<string, number>>();
      const asides: Record<string, number>[] = [];
      const end = play(of, script, (before, input) => {
        if (input.type === "aside" && before.state.phase === "running" && before.state.charter.researches === true) {
          if (input.usage !== undefined) asides.push(Object.fromEntries(counted(input.usage)));
        }
        // What this attempt said before it ended, read off the input itself.
        if (input.type !== "provider" || liveAttempt(before.state, input.attempt) === undefined) return;
        const verdict = input.events.findIndex(({ type }) => type === "verdict");
        const heard = verdict < 0 ? input.events : input.events.slice(0, verdict);
        for (const event of heard) {
          if (event.type === "usage") reported.set(input.attempt, Object.fromEntries(counted(event.usage)));
        }
      });
      fc.pre(end.state.phase === "sealed" && !end.events.some(({ type }) => type === "diagnostic"));
      // What a provider had reported when our object died is forgotten with it.
      fc.pre(!script.some(({ type }) => type === "recover" || type === "resume"));
      const sum: Record<string, number> = {};
      const ledger = [...reported.values(), ...asides];
      for (const event of end.events) {
        if (event.type !== "usage" || event.payload.estimated !== true) continue;
        const { attempt = -1, ...estimate } = event.payload;
        expect(reported.has(attempt)).toBe(false);
        expect(end.state.attempts[attempt]?.status).not.toBe("completed");
        ledger.push(Object.fromEntries(counted(estimate)));
      }
      for (const entry of ledger) for (const [key, value] of Object.entries(entry)) sum[key] = (sum[key] ?? 0) + value;
      // A total of some attempts would be none.
      if (ledger.some((entry) => entry["totalTokens"] === undefined)) delete sum["totalTokens"];
      const estimated = ledger.length > reported.size + asides.length;
      const expected = ledger.length === 0 ? undefined : { ...sum, ...(estimated && { estimated }) };
      expect(end.state.outcome?.usage).toEqual(expected);
    }),
    runs(800),
  );
});

const counted = (usage: object): [string, number][] =>
  Object.entries(usage).filter((entry): entry is [string, number] => typeof entry[1] === "number");

test("R-FALL-7 splitting a provider's batch anywhere changes nothing that is logged", () => {
  fc.assert(
    fc.property(charters, fc.array(providerEvent, { maxLength: 10 }), fc.nat(10), (of, events, split) => {
      const batch = (...groups: (readonly ProviderEvent[])[]) =>
        play(
          of,
          groups.map((group): Input => ({ type: "provider", at: EPOCH, attempt: 0, events: group })),
          () => undefined,
        );
      expect(batch(events.slice(0, split), events.slice(split)).events).toEqual(batch(events).events);
    }),
    runs(600),
  );
});

test("R-OUT-7 the shown text is a prefix of the provider's text within the limit, on a whole character", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme", maxLength: 6 }), { maxLength: 8 }),
      fc.integer({ min: 1, max: 30 }),
      (pieces, maxOutputBytes) => {
        const whole = pieces.join("");
        const of = charter(["a"], { maxOutputBytes });
        const end = play(
          of,
          [{ type: "provider", at: EPOCH, attempt: 0, events: [...pieces.map(text), stopped("stop")] }],
          () => undefined,
        );
        const { text: visible } = shown(end.events);
        const size = new TextEncoder().encode(whole).length;
        expect(whole.startsWith(visible)).toBe(true);
        expect(visible.isWellFormed()).toBe(true);
        if (size <= maxOutputBytes) expect(visible).toBe(whole);
        else {
          expect(end.state.outcome).toMatchObject({ outcome: "completed", finishReason: "length" });
          // Nothing more would have fitted.
          const next = String.fromCodePoint(whole.codePointAt(visible.length) ?? 0);
          expect(new TextEncoder().encode(visible + next).length).toBeGreaterThan(maxOutputBytes);
        }
      },
    ),
    runs(600),
  );
});

/** Everything that may happen to a run of two targets; provider inputs of both attempts, so that late ones are in it. */
const alphabet: Input[] = [
  ...[0, 1].flatMap((attempt): Input[] =>
    [text("x"), fails("overloaded"), stopped("stop")].map((event) => ({
      type: "provider",
      at: EPOCH + 5,
      attempt,
      events: [event],
    })),
  ),
  {
    type: "provider",
    at: EPOCH + 5,
    attempt: 0,
    events: [{ type: "tool_call", toolCallId: "c", toolName: "t", input: {} }],
  },
  { type: "provider", at: EPOCH + 5, attempt: 1, events: [fails("invalid_request")] },
  { type: "provider", at: EPOCH + 5, attempt: 0, events: [snapshot("")] },
  { type: "start", at: EPOCH },
  { type: "cancel", at: EPOCH + 9, reason: "r" },
  { type: "deadline", at: EPOCH + 9 },
  { type: "recover", at: EPOCH + 9, reservedTo: 8, damaged: false },
  { type: "resume", at: EPOCH + 9, recoveries: 1 },
  { type: "retry", at: EPOCH + 9 },
  { type: "hedge", at: EPOCH + 9 },
];
const LENGTH = 7;

test.each(["fail", "retract", "continue"] as const)(
  "R-LOG-2 R-FALL-1 R-FALL-2 R-FALL-5 R-FALL-6 R-FALL-8 R-CANCEL-3 model check of every input sequence, onMidStreamFailure %s",
  { timeout: 60_000 },
  (onMidStreamFailure) => {
    let steps = 0;
    const ends = new Set<string>();
    const walk = (history: History, depth: number): void => {
      for (const input of alphabet) {
        const step = transition(history.state, input);
        const wrong = faults(history, input, step);
        if (wrong.length > 0) expect.fail(`${wrong.join("; ")} after ${JSON.stringify(history.events)}`);
        steps++;
        // An input that changed nothing leads to where we are: what follows it is walked anyway.
        if (step.state.outcome !== undefined) ends.add(step.state.outcome.outcome);
        if (depth > 1 && step.state !== history.state) walk(extend(history, step), depth - 1);
      }
    };
    const of = charter(["a", "b"], { onMidStreamFailure, hedgeAfterMs: 500 });
    const chain = of.chain.map((planned) => ({ ...planned, retries: 1 }));
    walk(historyOf(initialState({ ...of, chain })), LENGTH);
    console.log(
      `model check (${onMidStreamFailure}): all sequences of ${alphabet.length} inputs up to length ${LENGTH}, ` +
        `${steps} distinct steps, ${alphabet.length ** LENGTH} sequences`,
    );
    expect([...ends].toSorted()).toEqual(["cancelled", "completed", "error"]);
  },
);
