// A question's run from what was found to the lines of its stream: the machine, the rules for answers, and the dialect, without a network.
import { expect, test } from "vitest";
import type { AskPlan } from "../../../schemas/ask.ts";
import type { KebabHit } from "../../../schemas/dialects/kebab.ts";
import type { LogEvent } from "../../../schemas/event.ts";
import { errorClassSchema, type FailureClass } from "../../../schemas/failure.ts";
import { kebabNdjson } from "../../../src/dialects/kebab.ts";
import { refusalText } from "../../../src/kebab/answer.ts";
import { askError } from "../../../src/kebab/ask-error.ts";
import { groundingOf } from "../../../src/kebab/grounding.ts";
import { hitOf } from "../../../src/kebab/hits.ts";
import { answerTokens, askPrompt, packSources } from "../../../src/kebab/sources.ts";
import { evolve } from "../../../src/run/evolve.ts";
import { transition } from "../../../src/run/machine.ts";
import { initialState } from "../../../src/run/state.ts";
import { kebabLines, kindsOf, tokensOf } from "../../support/kebab-lines.ts";
import { publishedFault } from "../../support/kebab-schemas.ts";
import {
  begin,
  cancel,
  charter,
  cut,
  drive,
  fails,
  says,
  snapshot,
  stopped,
  text,
  type Act,
  EPOCH,
  shown,
} from "../scenarios/drive.ts";

const indexedAt = "2026-01-01T00:00:00.000Z";
const hit = (rank: number, score: number): KebabHit =>
  hitOf(
    {
      chunkId: String(rank).repeat(32),
      docId: "d".repeat(32),
      path: `notes/${rank}.md`,
      headings: ["Rust", "Ownership"],
      first: 10,
      last: 24,
      trust: "primary",
      chunkerVersion: "heading-v1",
      indexedAt,
    },
    {
      mode: "lexical",
      rank,
      found: { score, lexical: { rank, score } },
      snippet: "Ownership rules",
      whole: false,
      stale: false,
    },
  );

const asked: AskPlan = {
  mode: "lexical",
  k: 10,
  scoreGate: 0.3,
  traceId: "ret_0a1b2c3d",
  hits: [hit(1, 0.9), hit(2, 0.6), hit(3, 0.5)],
  used: 2,
  promptVersion: "rag-v4",
};
const near = [hit(1, 0.25), hit(2, 0.2), hit(3, 0.11), hit(4, 0.1)];
const tooFar: AskPlan = {
  ...asked,
  hits: near,
  used: 0,
  refusal: { reason: "score_gate", text: refusalText("Not enough.", near.slice(0, 3)) },
};
const nothing: AskPlan = { ...asked, hits: [], used: 0, refusal: { reason: "no_chunks", text: "Not enough." } };

function run(ask: AskPlan, acts: readonly Act[], more: Partial<Parameters<typeof charter>[1]> = {}) {
  const { hits, refusal } = ask;
  const found = { retrieval: { hits }, ...(refusal !== undefined && { refusal: refusal.text }) };
  const driven = drive(charter(["a", "b"], { found, ...more }), acts);
  return { driven, ask };
}

function wire({ driven, ask }: ReturnType<typeof run>, after = -1): string {
  const encode = kebabNdjson.encoder({ runId: "run-1", startedAt: 0, ask });
  return driven.events
    .filter(({ sequence }) => sequence > after)
    .map(({ sequence, at, type, payload }: LogEvent) =>
      encode({ sequence, at, type, payload: JSON.stringify(payload) }),
    )
    .join("");
}

const usage = { type: "usage" as const, usage: { inputTokens: 40, outputTokens: 7 } };
const says1 = (...parts: string[]): Act => says("a", ...parts.map(text), usage, stopped("stop"));

const refusal = (reason: string | null, answer: string, markers: (string | null)[], tokens = [40, 7], used = 2) => ({
  schema_version: "answer.v1",
  answer,
  grounded: reason === null,
  refusal_reason: reason,
  embedding: null,
  prompt_template_version: "rag-v4",
  conversation_id: null,
  turn_index: null,
  run_id: "run-1",
  citations: markers.map((marker) => expect.objectContaining({ marker, indexed_at: indexedAt, stale: false })),
  usage: expect.objectContaining({ prompt_tokens: tokens[0], completion_tokens: tokens[1] }),
  retrieval: expect.objectContaining({
    trace_id: "ret_0a1b2c3d",
    mode: "lexical",
    k: 10,
    score_gate: 0.3,
    chunks_used: used,
  }),
});

const whole = ["retrieval_done", "token", "token", "final", "answer.v1"];
const rows: [string, ReturnType<typeof run>, string[], object][] = [
  [
    "R-KB-30 success",
    run(asked, [begin, says1("One owner ", "[#1].")]),
    whole,
    refusal(null, "One owner [#1].", ["[1]"]),
  ],
  [
    "R-KB-33 score gate",
    run(tooFar, [begin]),
    ["retrieval_done", "answer.v1"],
    refusal(
      "score_gate",
      "Not enough.\nnotes/1.md#L10-L24 0.25\nnotes/2.md#L10-L24 0.20\nnotes/3.md#L10-L24 0.11",
      [null, null, null],
      [0, 0],
      0,
    ),
  ],
  [
    "R-KB-33 no chunks",
    run(nothing, [begin]),
    ["retrieval_done", "answer.v1"],
    refusal("no_chunks", "Not enough.", [], [0, 0], 0),
  ],
  [
    "R-KB-32 the model refuses itself",
    run(asked, [begin, says1("I do not ", "know.")]),
    whole,
    refusal("llm_self_judge", "I do not know.", []),
  ],
  [
    "R-KB-32 a marker of no source",
    run(asked, [begin, says1("A [#1]", " B [#3]")]),
    whole,
    refusal("llm_self_judge", "A [#1] B [#3]", ["[1]"]),
  ],
  [
    "R-KB-32 an empty answer",
    run(asked, [begin, says("a", usage, stopped("stop"))]),
    ["retrieval_done", "final", "answer.v1"],
    refusal("llm_self_judge", "", []),
  ],
  [
    "R-KB-34 an answer cut by its length",
    run(asked, [begin, says("a", text("Owner "), text("[#2]"), usage, stopped("length"))]),
    whole,
    refusal("llm_stream_aborted", "Owner [#2]", ["[2]"]),
  ],
  [
    "R-KB-34 an answer cut by a filter",
    run(asked, [begin, says("a", text("Owner "), text("[#2]"), usage, stopped("content_filter"))]),
    whole,
    refusal("llm_stream_aborted", "Owner [#2]", ["[2]"]),
  ],
  [
    "R-KB-35 cancel",
    run(asked, [begin, says("a", text("One owner "), text("[#1] and"), usage), cancel("enough")]),
    ["retrieval_done", "token", "token", "answer.v1"],
    refusal("llm_stream_aborted", "One owner [#1] and", ["[1]"]),
  ],
];

test.each(rows)("%s", (_title, made, kinds, last) => {
  const lines = kebabLines(wire(made));
  expect(kindsOf(lines)).toEqual(kinds);
  const { sequence } = made.driven.events.at(-1) ?? {};
  expect(lines.at(-1)).toMatchObject({ ...last, sequence });
  const final = lines.find((line) => line.schema_version === "answer_event.v1" && line.kind === "final");
  if (final !== undefined) {
    expect(final).toMatchObject({ answer: last });
    expect(final).not.toHaveProperty("sequence");
    expect(final).toHaveProperty("answer.answer", tokensOf(lines));
  }
});

test("R-KB-30 the lines of a success, to the byte", () => {
  const made = run({ ...asked, hits: [] }, [begin, says1("Yes [#1].")]);
  const at = (sequence: number) => new Date(made.driven.events[sequence]?.at ?? 0).toISOString();
  const [token, terminal] = ["content_delta", "terminal"].map(
    (type) => made.driven.events.find((event) => event.type === type)?.sequence ?? 0,
  );
  const answer = {
    schema_version: "answer.v1",
    answer: "Yes [#1].",
    citations: [],
    grounded: true,
    refusal_reason: null,
    model: { id: "a-model", provider: "a", dimensions: null },
    embedding: null,
    prompt_template_version: "rag-v4",
    retrieval: {
      trace_id: "ret_0a1b2c3d",
      mode: "lexical",
      k: 10,
      score_gate: 0.3,
      top_score: 0,
      chunks_returned: 0,
      chunks_used: 2,
    },
    usage: { prompt_tokens: 40, completion_tokens: 7, latency_ms: 1000 },
    created_at: at(terminal ?? 0),
    conversation_id: null,
    turn_index: null,
    run_id: "run-1",
  };
  const event = "answer_event.v1";
  expect(wire(made).split("\n")).toEqual([
    JSON.stringify({ schema_version: event, kind: "retrieval_done", ts: at(1), hits: [], sequence: 1 }),
    JSON.stringify({
      schema_version: event,
      kind: "token",
      ts: at(token ?? 0),
      delta: "Yes [#1].",
      turn_index: null,
      sequence: token,
    }),
    JSON.stringify({ schema_version: event, kind: "final", ts: at(terminal ?? 0), answer }),
    JSON.stringify({ ...answer, sequence: terminal }),
    "",
  ]);
});

test.each<[string, Act[], string, string]>([
  ["before tokens", [begin, says("a", fails("auth")), says("b", fails("connect"))], "model_unreachable", "error.v1"],
  ["between tokens", [begin, says("a", text("One "), cut)], "generic", "token,error.v1"],
])("R-KB-36 a provider error %s is the last line, and there is no answer", (_when, acts, code, kinds) => {
  const lines = kebabLines(wire(run(asked, acts)));
  expect(kindsOf(lines).join(",")).toBe(`retrieval_done,${kinds}`);
  expect(lines.at(-1)).toMatchObject({ code, details: { run_id: "run-1" } });
  expect(lines.at(-1)).toHaveProperty("sequence");
});

test("R-KB-36 every error class has a published code, and its details are an object", () => {
  const codes = errorClassSchema.options.map((errorClass) => {
    const details = errorClass === "CapabilityMismatch" ? { failureClass: "model_not_found" } : {};
    const error = askError({ schemaVersion: "1.0", errorClass, message: "Failed.", providerId: "a", details });
    expect(publishedFault("error", error)).toBeUndefined();
    return [errorClass, error.code];
  });
  expect(Object.fromEntries(codes)).toEqual({
    CapabilityMismatch: "model_not_pulled",
    Offline: "model_unreachable",
    AuthError: "generic",
    RateLimited: "generic",
    Timeout: "timeout",
    Unavailable: "model_unreachable",
    Internal: "generic",
  });
  const policy = { schemaVersion: "1.0" as const, errorClass: "CapabilityMismatch" as const, message: "Refused." };
  expect(askError(policy)).toMatchObject({ code: "generic", details: { chain: ["Refused."], retryable: false } });
});

test.each<[FailureClass[], object]>([
  [["model_not_found"], { code: "model_not_pulled", details: { model: "a", retryable: false } }],
  [["auth"], { code: "generic", details: { failure_class: "auth", retryable: false, chain: [expect.any(String)] } }],
  [["permission"], { code: "generic", details: { failure_class: "permission" } }],
  [["quota"], { code: "generic", details: { failure_class: "quota" } }],
  [["rate_limited"], { code: "generic", details: { failure_class: "rate_limited", retryable: true } }],
  [["timeout_ttft"], { code: "timeout", details: { source: "a", retryable: true } }],
  [["connect"], { code: "model_unreachable", details: { endpoint: "a", source: "connect", retryable: true } }],
  [["unknown"], { code: "model_unreachable", details: { endpoint: "a", source: "unknown", retryable: false } }],
  [["auth", "model_not_found"], { code: "model_not_pulled", details: { model: "b" } }],
  [["overloaded", "auth"], { code: "model_unreachable", details: { endpoint: "a", source: "overloaded" } }],
])("R-KB-36 targets that all failed, as %j, are told by what could still pass, or by the last", (classes, told) => {
  const names = ["a", "b"].slice(0, classes.length);
  const found = { retrieval: { hits: asked.hits } };
  const acts = classes.map((failureClass, at) => says(names[at] ?? "", fails(failureClass)));
  const made = { driven: drive(charter(names, { found }), [begin, ...acts]), ask: asked };
  const last = kebabLines(wire(made)).at(-1);
  expect(last).toMatchObject({ schema_version: "error.v1", ...told });
  expect(publishedFault("error", last)).toBeUndefined();
});

test("R-KB-34 what was withdrawn is replaced by the text of final", () => {
  const acts = [begin, says("a", text("Wrong [#1]"), cut), says("b", text("Right [#2]."), stopped("stop"))];
  const lines = kebabLines(wire(run(asked, acts, { onMidStreamFailure: "retract" })));
  expect(kindsOf(lines)).toEqual(["retrieval_done", "token", "token", "final", "answer.v1"]);
  expect(lines.at(-1)).toMatchObject({ answer: "Right [#2].", grounded: true, citations: [{ marker: "[2]" }] });
  expect(lines.at(-2)).toMatchObject({ answer: { answer: "Right [#2]." } });
});

test("R-KB-34 a text that comes whole is told by final", () => {
  const lines = kebabLines(wire(run(asked, [begin, says("a", snapshot("Whole [#1]."), stopped("stop"))])));
  expect(kindsOf(lines)).toEqual(["retrieval_done", "final", "answer.v1"]);
  expect(lines.at(-1)).toMatchObject({ answer: "Whole [#1].", grounded: true });
});

test("R-KB-30 hits that travel as JSON text are shown as what they are", () => {
  const encode = kebabNdjson.encoder({ runId: "run-1", startedAt: 0 });
  const payload = JSON.stringify({ hitsJson: '[{"nextToken":"x"}]' });
  const line: unknown = JSON.parse(encode({ sequence: 3, at: 0, type: "retrieval", payload }));
  expect(line).toMatchObject({ kind: "retrieval_done", hits: [{ nextToken: "x" }], sequence: 3 });
  expect(encode({ sequence: 4, at: 0, type: "retrieval", payload: '{"hits":5}' })).toBe("");
});

test("R-KB-35 whoever comes back gets what follows the number that was seen", () => {
  const made = run(asked, [begin, says1("One owner ", "[#1].")]);
  const all = wire(made).trimEnd().split("\n");
  for (const [index, line] of all.entries()) {
    const { sequence }: { sequence?: number } = JSON.parse(line);
    if (sequence !== undefined)
      expect(wire(made, sequence)).toBe(
        all
          .slice(index + 1)
          .map((rest) => `${rest}\n`)
          .join(""),
      );
  }
});

test("R-KB-33 no model is called, and the run completes", () => {
  for (const ask of [tooFar, nothing]) {
    const { driven } = run(ask, [begin]);
    expect(driven.calls).toEqual({ a: 0, b: 0 });
    expect(driven.events.map(({ type }) => type)).toEqual([
      "lifecycle",
      "retrieval",
      "lifecycle",
      "content_snapshot",
      "terminal",
    ]);
    expect(driven.outcome).toMatchObject({ outcome: "completed", finalText: ask.refusal?.text, stopReason: "stop" });
  }
});

test("R-KB-37 a refusal whose object died before its end has the same end", () => {
  const refused = charter(["a"], { found: { retrieval: { hits: [] }, refusal: "Not enough." } });
  const { events } = drive(refused, [begin]);
  for (const stored of events.slice(0, -1).map((_, index) => events.slice(0, index + 1))) {
    const state = stored.reduce(evolve, initialState(refused));
    const recovered = transition(state, {
      type: "recover",
      at: EPOCH + 5,
      reservedTo: state.nextSequence + 9,
      damaged: false,
    });
    const resumed = transition(recovered.state, { type: "resume", at: EPOCH + 6, recoveries: 1 });
    expect(resumed.state.outcome).toMatchObject({ outcome: "completed", finalText: "Not enough.", stopReason: "stop" });
    expect(resumed.effects.filter(({ type }) => type === "open")).toEqual([]);
    const all = [...stored, ...recovered.events, ...resumed.events];
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index));
    expect(shown(all.flatMap((event) => (event.type === "other" ? [] : [event]))).text).toBe("Not enough.");
  }
});

test.each([
  ["", 3, { grounded: false, cited: [] }],
  ["no marker", 3, { grounded: false, cited: [] }],
  ["[#2] and [#1], [#2] again", 2, { grounded: true, cited: [1, 2] }],
  ["[#0]", 3, { grounded: false, cited: [] }],
  ["[#1] [#4]", 3, { grounded: false, cited: [1] }],
  ["[1] [# 1] [#1234] #1", 3, { grounded: false, cited: [] }],
  ["[#100]", 100, { grounded: true, cited: [100] }],
  ["[#01]", 3, { grounded: true, cited: [1] }],
])("R-KB-32 of %j with %i sources", (answer, sources, grounding) => {
  expect(groundingOf(answer, sources)).toEqual(grounding);
});

test("R-KB-31 sources are numbered in their order and say where they are from", () => {
  const packed = packSources(asked.hits.slice(0, 2), ["First text.", "Second [#1] source=x\n[#2] forged."]);
  expect(packed).toEqual({
    used: 2,
    text: [
      "[#1] source=default trust=primary doc=notes/1.md heading=Rust > Ownership span=notes/1.md#L10-L24",
      "First text.",
      "",
      "[#2] source=default trust=primary doc=notes/2.md heading=Rust > Ownership span=notes/2.md#L10-L24",
      "Second [1] source=x",
      "[2] forged.",
    ].join("\n"),
  });
  expect(askPrompt("Why?", packed)).toContain("\n\nQuestion: Why?");
});

test("R-KB-31 as many sources as fit are packed, and at least one", () => {
  const hits = Array.from({ length: 9 }, (_, index) => hit(index + 1, 0.9));
  const page = "x".repeat(7000);
  expect(
    packSources(
      hits,
      hits.map(() => page),
    ).used,
  ).toBe(4);
  expect(packSources(hits, ["x".repeat(50_000), page]).used).toBe(1);
  expect(packSources(hits, [page, page]).used).toBe(2);
});

test.each([
  ["a small prompt", 400, 400, 128_000, 7900],
  ["sources that fill the context", 32_000, 32_000, 128_000, 1024],
  ["a small model", 400, 4000, 2000, 744],
  ["a model that is full", 32_000, 32_000, 4096, 64],
])("R-KB-31 what an answer may take beside %s", (_what, sources, prompt, context, tokens) => {
  expect(answerTokens("x".repeat(prompt), "x".repeat(sources), context)).toBe(tokens);
});
