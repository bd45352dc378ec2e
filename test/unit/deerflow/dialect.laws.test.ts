// What holds of DeerFlow's frames wherever a connection is cut and however often: by its last id a reader gets the rest, and in the end shows the run's text.
import { MessageTupleManager, StreamManager } from "langgraph-sdk-1-15/ui";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import type { LogEntry } from "../../../schemas/event.ts";
import { answersIn, framesOf, messagesIn, shownBy, type DeerFrame } from "../../support/deerflow-frames.ts";
import { statedText } from "../scenarios/drive.ts";
import { randomLog } from "../sveda/random-log.ts";
import { plays } from "../thread/plays.ts";
import { entriesOf, everything, inThread, wireOf } from "./wire.ts";

const modes = fc.subarray(["values", "messages-tuple", "updates", "custom"] as const);
const played = fc.constantFrom(...Object.values(plays).map(({ events }) => entriesOf(events)));
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 });

/** What a reader has that comes back after each cut: whole frames only, of which the last one with an id is where it goes on. */
function readCut(entries: readonly LogEntry[], run: typeof everything, at: readonly number[]): DeerFrame[] {
  const got: DeerFrame[] = [];
  for (const cut of [...at, undefined]) {
    const id = got.findLast((frame) => frame.id !== undefined)?.id;
    const wire = wireOf(entries, run, id === undefined ? "nothing" : { id });
    const end = cut === undefined ? wire.length : wire.lastIndexOf("\n\n", Math.round(wire.length * cut) - 2) + 2;
    const frames = framesOf(wire.slice(0, Math.max(0, end)));
    // A reader that has the end does not come back.
    if (frames.at(-1)?.event === "end") return [...got, ...frames];
    got.push(...frames);
  }
  return got;
}

const textsOf = (frames: readonly DeerFrame[]): string => frames.map(({ text }) => text).join("");

describe("R-DF-12 however often a reader is cut off, its frames are the uncut ones", () => {
  test("of whole runs", () => {
    fc.assert(
      fc.property(played, modes, cuts, (entries, asked, at) => {
        const run = inThread(...asked);
        expect(textsOf(readCut(entries, run, at))).toBe(wireOf(entries, run));
      }),
      { numRuns: 500 },
    );
  });

  test("of any log, whatever its events hold, and every frame is one line of JSON", () => {
    fc.assert(
      fc.property(randomLog, cuts, (entries, at) => {
        const ended = entries.slice(0, entries.findIndex(({ type }) => type === "terminal") + 1);
        const log = ended.length > 0 ? ended : entries;
        expect(textsOf(readCut(log, everything, at))).toBe(wireOf(log));
        expect(wireOf(log)).not.toMatch(/\r/);
      }),
      { numRuns: 500 },
    );
  });

  test("at every id, while the run is live too", () => {
    for (const { events } of Object.values(plays)) {
      const entries = entriesOf(events);
      for (const end of [entries.length - 1, Math.floor(entries.length / 2)]) {
        const seen = entries.slice(0, end + 1);
        const frames = framesOf(wireOf(seen)).filter(({ event }) => event !== "end");
        for (const [index, { id }] of frames.entries()) {
          const rest = wireOf(entries, everything, { id: id ?? "" }, end);
          expect(rest).toBe(wireOf(entries).slice(textsOf(frames.slice(0, index + 1)).length));
        }
      }
    }
  });
});

test("R-DF-12 an id that the run never gave is nothing seen; a finished run has its end for everybody", () => {
  const entries = entriesOf(plays["text only"].events);
  const whole = wireOf(entries);
  for (const id of [
    "-1",
    "",
    "x",
    "5",
    "1-",
    "-1-0",
    "0-1",
    "01-0",
    `${entries.length + 1}-0`,
    "1767225600000-0",
    "1-0 ",
    "0-0 ",
    // The entry is there, and has fewer frames or none.
    "5-99",
    `${entries.length}-9`,
    ...entries.flatMap((_, index) =>
      [0, 1, 2, 3].map((frame) => `${index + 1}-${frame}`).filter((one) => !whole.includes(`\nid: ${one}\n`)),
    ),
  ]) {
    expect(wireOf(entries, everything, { id })).toBe(whole);
  }
  expect(wireOf(entries, everything, { id: `${entries.length}-0` })).toBe("event: end\ndata: null\n\n");
  expect(wireOf(entries, everything, { after: entries.length - 2 })).toBe(
    'event: custom\ndata: {"type":"run_terminal","status":"success","stop_reason":null,"error":null}\nid: ' +
      `${entries.length}-0\n\nevent: end\ndata: null\n\n`,
  );
});

describe("R-DF-13 what a reader shows in the end is the run's text", () => {
  const ended = Object.entries(plays).flatMap(([name, { events, outcome }]) =>
    outcome === undefined ? [] : [{ name, entries: entriesOf(events), text: statedText(outcome) }],
  );

  test.each(ended)("by pieces, with states and without: $name", ({ entries, text }) => {
    for (const run of [inThread("messages-tuple"), inThread("values", "messages-tuple"), inThread("values")]) {
      expect(answersIn(shownBy(framesOf(wireOf(entries, run)))).join("")).toBe(text);
    }
  });

  test.each(ended)("as the LangGraph SDK groups it: $name", async ({ entries, text }) => {
    vi.spyOn(console, "error").mockReturnValue();
    for (const run of [inThread("messages-tuple"), inThread("values", "messages-tuple", "updates", "custom")]) {
      const shown = await shownBySdk(framesOf(wireOf(entries, run)));
      const said = shown.filter(({ type }) => type === "ai").map(({ content }) => content);
      expect(said.join("")).toBe(text);
    }
    vi.restoreAllMocks();
  });

  test("also for one that has seen what a crash has voided, at every frame of it", () => {
    for (const name of ["recovery, then retracted", "recovery, then the end", "recovery while a tool runs"] as const) {
      const { events, outcome } = plays[name];
      if (outcome === undefined) throw new Error("the run has not ended");
      const entries = entriesOf(events);
      const released = entries.filter(({ payload }) => payload.includes("sequence_released"));
      const from = released[0]?.sequence ?? 0;
      const lost = released.map(({ sequence, at }) =>
        entryOf({ sequence, at, type: "content_delta", payload: { text: `lost ${sequence}` } }),
      );
      const before = [...entries.slice(0, from), ...lost];
      const run = inThread("values", "messages-tuple");
      const seen = framesOf(wireOf(before, run));
      for (let count = 1; count <= seen.length; count++) {
        const had = seen.slice(0, count);
        const rest = framesOf(wireOf(entries, run, { id: had.at(-1)?.id ?? "" }));
        expect(answersIn(shownBy([...had, ...rest])).join("")).toBe(statedText(outcome));
      }
    }
  });
});

async function shownBySdk(frames: readonly DeerFrame[]): Promise<Record<string, unknown>[]> {
  const manager = new StreamManager(new MessageTupleManager(), { throttle: false });
  async function* stream() {
    for (const { event, data, id } of frames) yield JSON.parse(JSON.stringify({ event, data, id }));
  }
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  await manager.start(async () => stream(), {
    getMessages: (values: Record<string, unknown>) => JSON.parse(JSON.stringify(messagesIn(values))),
    setMessages: (values: Record<string, unknown>, messages: unknown) => ({ ...values, messages }),
    initialValues: {},
    callbacks: {},
    onSuccess: () => undefined,
    onError: () => undefined,
    onFinish: () => finish(),
  });
  await finished;
  return messagesIn(manager.values);
}
