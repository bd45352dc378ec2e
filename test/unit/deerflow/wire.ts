// A log as DeerFlow's wire. Asserts nothing.
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import type { LogEntry, LogEvent } from "../../../schemas/event.ts";
import type { LangMessage, StreamMode } from "../../../schemas/thread.ts";
import { deerflowSse } from "../../../src/dialects/deerflow.ts";
import type { DialectRun, Seen } from "../../../src/dialects/dialect.ts";
import { EPOCH } from "../scenarios/drive.ts";

const human: LangMessage = {
  content: "Which courses? Привет",
  additional_kwargs: {},
  response_metadata: {},
  type: "human",
  name: null,
  id: "h1",
};

export const inThread = (...modes: StreamMode[]): DialectRun => ({
  runId: "run-1",
  startedAt: EPOCH,
  models: { p1: "m1", p2: "m2" },
  maxAttempts: 2,
  thread: { threadId: "t1", modes, base: { messages: [human], values: { title: "Old" } } },
});

export const everything = inThread("values", "messages-tuple", "updates", "custom");

export const entriesOf = (events: readonly LogEvent[]): LogEntry[] => events.map(entryOf);

export function wireOf(
  entries: readonly LogEntry[],
  run: DialectRun = everything,
  seen: Seen = "nothing",
  end = entries.length - 1,
): string {
  const { opening, encode } = deerflowSse.follow(run, seen, end, entries.slice(0, end + 1));
  return opening + entries.map(encode).join("");
}
