// The console's picture of a run, as a pure function of what arrived: sequence check, text, attempts, tools and endings.
import { describe, expect, it } from "vitest";
import type { Fields } from "../../src/console/fields.ts";
import { describeIntegrity, isIntact } from "../../src/console/integrity.ts";
import {
  type Input,
  maxRecentEvents,
  newRunView,
  reduce,
  type RunView,
  isEstimated,
  usageOf,
} from "../../src/console/run-view.ts";

const event = (sequence: number, type: string, payload: Fields = {}): Input => ({
  kind: "event",
  event: { sequence, timestamp: 1_000 + sequence, type, payload },
});
const delta = (sequence: number, text: string): Input => event(sequence, "content_delta", { text });
const after = (inputs: readonly Input[], from: RunView = newRunView("run-1")): RunView => inputs.reduce(reduce, from);
const opened: Input = { kind: "opened" };

describe("sequence check", () => {
  it("calls a dense log from 0 gapless, whatever its types", () => {
    const view = after([opened, event(0, "lifecycle"), delta(1, "a"), event(2, "diagnostic"), delta(3, "b")]);
    expect(describeIntegrity(view.integrity)).toBe("gapless 0..3, no repeats");
    expect(isIntact(view.integrity)).toBe(true);
    expect(view.text).toBe("ab");
  });

  it("names the numbers that are missing", () => {
    const view = after([opened, delta(0, "a"), delta(3, "d"), delta(5, "f")]);
    expect(view.integrity.gaps).toEqual([
      { from: 1, to: 2 },
      { from: 4, to: 4 },
    ]);
    expect(describeIntegrity(view.integrity)).toBe("0..5, 3 missing (1..2, 4), no repeats");
    expect(isIntact(view.integrity)).toBe(false);
  });

  it("sees a gap before the first event of a log that does not begin at 0", () => {
    expect(after([opened, delta(1, "b")]).integrity.gaps).toEqual([{ from: 0, to: 0 }]);
  });

  it("counts a repeated number and does not apply its event again", () => {
    const view = after([opened, delta(0, "a"), delta(1, "b"), delta(1, "b"), delta(0, "a")]);
    expect(view.text).toBe("ab");
    expect(view.integrity).toMatchObject({ received: 4, repeats: 2, last: 1, gaps: [] });
    expect(view.recent).toHaveLength(2);
    expect(describeIntegrity(view.integrity)).toBe("gapless 0..1, 2 repeated");
  });

  it("counts an event that comes late out of a gap apart from a repeat", () => {
    const view = after([opened, delta(0, "a"), delta(2, "c"), delta(1, "b")]);
    expect(view.integrity).toMatchObject({ late: 1, repeats: 0 });
    expect(view.text).toBe("ac");
  });

  it("does not apply what arrives after the terminal under an old number", () => {
    const terminal = event(1, "terminal", { outcome: "completed", finalText: "a" });
    const view = after([opened, delta(0, "a"), terminal, event(1, "terminal", { outcome: "error" })]);
    expect(view.status).toBe("completed");
    expect(isIntact(view.integrity)).toBe(false);
  });

  it("proves a drop and a resume gapless and says what each connection brought", () => {
    const view = after([
      opened,
      delta(0, "a"),
      delta(1, "b"),
      { kind: "dropped" },
      { kind: "resumed" },
      opened,
      delta(2, "c"),
      delta(3, "d"),
    ]);
    expect(view).toMatchObject({ text: "abcd", drops: 1, resumes: 1, reconnects: 0, link: "open" });
    expect(view.integrity.spans).toEqual([
      { from: 0, to: 1 },
      { from: 2, to: 3 },
    ]);
    expect(isIntact(view.integrity)).toBe(true);
  });

  it("counts one reconnect however often it was tried", () => {
    const view = after([opened, delta(0, "a"), { kind: "lost" }, { kind: "lost" }, opened, delta(1, "b")]);
    expect(view).toMatchObject({ reconnects: 1, drops: 0, resumes: 0 });
    expect(isIntact(view.integrity)).toBe(true);
  });

  it("keeps the text while the connection is dropped", () => {
    expect(after([opened, delta(0, "kept"), { kind: "dropped" }])).toMatchObject({ link: "dropped", text: "kept" });
  });
});

describe("text", () => {
  it("replaces all text by a snapshot and goes on from it", () => {
    const view = after([opened, delta(0, "wrong"), event(1, "content_snapshot", { text: "right" }), delta(2, "!")]);
    expect(view.text).toBe("right!");
    expect(view.textEdition).toBe(1);
    expect(view.replacement).toEqual({ kind: "replaced", sequence: 1 });
  });

  it("withdraws all text by an empty snapshot", () => {
    const view = after([opened, delta(0, "gone"), event(1, "content_snapshot", { text: "" })]);
    expect(view.text).toBe("");
    expect(view.replacement).toEqual({ kind: "withdrawn", sequence: 1 });
  });

  it("tells a restatement after a recovery from a replacement", () => {
    const restated = event(1, "content_snapshot", { text: "a", releasedFrom: 1 });
    expect(after([opened, delta(0, "a"), restated]).replacement?.kind).toBe("restated");
  });

  it("says nothing of a first snapshot, which replaces nothing", () => {
    const view = after([opened, event(0, "content_snapshot", { text: "all at once" })]);
    expect(view).toMatchObject({ text: "all at once", replacement: null });
  });

  it("collects reasoning and lets a snapshot replace it only when it carries some", () => {
    const reasoned = after([opened, event(0, "reasoning_delta", { text: "hm" }), delta(1, "x")]);
    expect(after([event(2, "content_snapshot", { text: "" })], reasoned).reasoning).toBe("hm");
    expect(after([event(2, "content_snapshot", { text: "", reasoning: "" })], reasoned).reasoning).toBe("");
  });
});

describe("other events", () => {
  it("lists a type it does not know and changes nothing else", () => {
    const view = after([opened, delta(0, "a")]);
    const next = after([event(1, "weather_report", { sky: "grey" })], view);
    expect(next.recent.at(-1)).toMatchObject({ sequence: 1, type: "weather_report", payload: { sky: "grey" } });
    expect({ ...next, recent: view.recent, integrity: view.integrity }).toEqual(view);
  });

  it("keeps the newest events of a long log and counts all of them", () => {
    const view = after([opened, ...Array.from({ length: maxRecentEvents + 20 }, (_, at) => delta(at, "x"))]);
    expect(view.recent).toHaveLength(maxRecentEvents);
    expect(view.recent.at(0)?.sequence).toBe(20);
    expect(view.integrity.received).toBe(maxRecentEvents + 20);
    expect(view.text).toHaveLength(maxRecentEvents + 20);
  });

  it("keeps one row per attempt with its last phase and its failure", () => {
    const view = after([
      opened,
      event(0, "attempt", { attempt: 0, targetId: "first", phase: "started" }),
      event(1, "attempt", { attempt: 0, targetId: "first", phase: "failed", errorClass: "Timeout", message: "silent" }),
      event(2, "attempt", { attempt: 1, targetId: "second", phase: "started" }),
      event(3, "attempt", { attempt: 1, targetId: "second", phase: "committed" }),
    ]);
    expect(view.attempts).toMatchObject([
      { attempt: 0, targetId: "first", phase: "failed", errorClass: "Timeout", message: "silent" },
      { attempt: 1, targetId: "second", phase: "committed", errorClass: undefined },
    ]);
  });

  it("sums the last usage report of each attempt until the outcome states its own", () => {
    const view = after([
      opened,
      event(0, "usage", { attempt: 0, inputTokens: 5, outputTokens: 1 }),
      event(1, "usage", { attempt: 0, inputTokens: 5, outputTokens: 4 }),
      event(2, "usage", { attempt: 1, inputTokens: 7 }),
    ]);
    expect(Object.fromEntries(usageOf(view))).toEqual({ inputTokens: 12, outputTokens: 4 });
    const ended = after([event(3, "terminal", { outcome: "completed", usage: { inputTokens: 13 } })], view);
    expect(Object.fromEntries(usageOf(ended))).toEqual({ inputTokens: 13 });
    expect(isEstimated(view)).toBe(false);
    expect(isEstimated(after([event(3, "usage", { attempt: 2, inputTokens: 1, estimated: true })], view))).toBe(true);
    expect(isEstimated(ended)).toBe(false);
  });

  it("grows a tool call from its pieces to its result", () => {
    const named = { toolCallId: "call-1", toolName: "look_up" };
    const arriving = after([
      opened,
      event(0, "tool_call_delta", { ...named, inputText: '{"a"' }),
      event(1, "tool_call_delta", { toolCallId: "call-1", inputText: ":1}" }),
    ]);
    expect(arriving.tools).toMatchObject([{ state: "arriving", toolName: "look_up", input: '{"a":1}' }]);
    const answered = after(
      [
        event(2, "tool_call", { ...named, input: { a: 1 }, execution: "server" }),
        event(3, "tool_result", { ...named, output: "found" }),
      ],
      arriving,
    );
    expect(answered.tools).toMatchObject([{ state: "answered", output: "found" }]);
  });

  it("forgets a tool call that never became whole when its attempt failed", () => {
    const view = after([
      opened,
      event(0, "tool_call_delta", { toolCallId: "call-1", inputText: "{" }),
      event(1, "attempt", { attempt: 0, targetId: "first", phase: "failed", errorClass: "Unavailable" }),
    ]);
    expect(view.tools).toEqual([]);
  });

  it("takes title, step and selected provider", () => {
    const view = after([
      opened,
      event(0, "lifecycle", { phase: "provider_selected", providerId: "first" }),
      event(1, "step", { step: 2, phase: "started" }),
      event(2, "title", { title: "Lighthouses" }),
    ]);
    expect(view).toMatchObject({ providerId: "first", step: 2, title: "Lighthouses" });
  });
});

describe("endings", () => {
  it("completes and confirms that the shown text is the final text", () => {
    const view = after([opened, delta(0, "done"), event(1, "terminal", { outcome: "completed", finalText: "done" })]);
    expect(view).toMatchObject({ status: "completed", link: "ended", textAgrees: true, endedAt: 1_001 });
  });

  it("says when the final text is not the text shown", () => {
    const view = after([opened, delta(0, "a"), event(1, "terminal", { outcome: "completed", finalText: "b" })]);
    expect(view.textAgrees).toBe(false);
    expect(view.text).toBe("a");
  });

  it("ends in error with the attempts of the provenance", () => {
    const provenance = {
      attempts: [{ attempt: 0, targetId: "first", status: "failed", failureClass: "truncated", firstOutputMs: 12 }],
    };
    const outcome = { outcome: "error", error: { errorClass: "Internal" }, partialText: "a", provenance };
    const view = after([opened, delta(0, "a"), event(1, "terminal", outcome)]);
    expect(view).toMatchObject({ status: "error", textAgrees: true });
    expect(view.attempts).toMatchObject([{ phase: "failed", failureClass: "truncated", firstOutputMs: 12 }]);
  });

  it("takes the attempts of the error details when there is no provenance", () => {
    const details = { attempts: [{ attempt: 0, targetId: "first", status: "failed", errorClass: "Timeout" }] };
    const outcome = { outcome: "error", error: { errorClass: "Unavailable", details }, partialText: "" };
    expect(after([opened, event(0, "terminal", outcome)]).attempts).toMatchObject([{ errorClass: "Timeout" }]);
  });

  it("ends cancelled", () => {
    const asked = after([opened, delta(0, "a"), { kind: "cancel_asked" }]);
    expect(asked).toMatchObject({ status: "running", cancelAsked: true });
    const view = after([event(1, "terminal", { outcome: "cancelled", partialText: "a", reason: "enough" })], asked);
    expect(view).toMatchObject({ status: "cancelled", textAgrees: true });
  });

  it("takes an outcome that came another way without closing the gap to the terminal", () => {
    const dropped = after([opened, delta(0, "a"), { kind: "dropped" }]);
    const view = after([{ kind: "outcome", outcome: { outcome: "cancelled", partialText: "abc" } }], dropped);
    expect(view).toMatchObject({ status: "cancelled", terminalSeen: false, textAgrees: null, link: "dropped" });
    const caughtUp = after(
      [{ kind: "resumed" }, opened, delta(1, "bc"), event(2, "terminal", { outcome: "cancelled", partialText: "abc" })],
      view,
    );
    expect(caughtUp).toMatchObject({ terminalSeen: true, textAgrees: true, text: "abc" });
  });

  it("shows the outcome's text when no event can be read any more", () => {
    const outcome = { outcome: "completed", finalText: "all of it" };
    const view = after([{ kind: "refused" }, { kind: "outcome", outcome }]);
    expect(view).toMatchObject({ status: "completed", text: "all of it", textAgrees: null });
  });

  it("treats an outcome word it does not know as an end", () => {
    expect(after([opened, event(0, "terminal", { outcome: "evaporated" })]).status).toBe("ended");
  });
});
