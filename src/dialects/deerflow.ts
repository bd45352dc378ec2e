// The DeerFlow dialect: the log as the frames that LangGraph's clients read over SSE. Its frames are made of the whole log; it never sends `gap`.
import type { LogEntry } from "../../schemas/event.ts";
import type { StreamMode } from "../../schemas/thread.ts";
import { endingOf } from "../thread/ending.ts";
import { followEntry } from "../thread/follow.ts";
import { followed, type Told } from "../thread/followed.ts";
import { answerMessage, pieceMessage, resultMessage, type Piece } from "../thread/messages.ts";
import { SSE_HEARTBEAT, sseNamedFrame, ssePreamble } from "../wire/sse-writer.ts";
import { frameWriter, NOTHING, placeOf, type FrameWriter, type Place } from "./deerflow-frames.ts";
import { stateValues } from "./deerflow-values.ts";
import type { DialectRun, LogDialect, Reading } from "./dialect.ts";

/** What a reader gets of a run that no thread has asked for. */
const ALL_MODES: readonly StreamMode[] = ["values", "messages-tuple", "updates", "custom"];

export const deerflowSse: LogDialect = {
  contentType: "text/event-stream",
  preamble: ssePreamble(),
  heartbeat: SSE_HEARTBEAT,
  follow(run, seen, end, log) {
    const place = placeOf(seen, end);
    const isWrong = typeof seen === "object" && "id" in seen && !isGiven(run, place, log);
    return reading(run, isWrong ? NOTHING : place);
  },
  failure: ({ message, errorClass }) => sseNamedFrame("error", JSON.stringify({ message, name: errorClass })),
};

function reading(run: DialectRun, place: Place): Reading {
  const opening = frameWriter(-1, place);
  opening.add("metadata", () => JSON.stringify({ run_id: run.runId, thread_id: threadIdOf(run) }));
  const encode = framesBy(run, place);
  return { opening: opening.wire(), encode: (entry) => encode(entry).wire() };
}

/** Whether the run has given the frame of this place. Of a log that cannot be read so far nobody knows. */
function isGiven(run: DialectRun, place: Place, log: Iterable<LogEntry>): boolean {
  if (place.sequence < 0) return true;
  const encode = framesBy(run, place);
  for (const entry of log) {
    const frames = encode(entry);
    if (entry.sequence >= place.sequence) return entry.sequence > place.sequence || place.frame < frames.count();
  }
  return true;
}

/** The frames of each entry in order. */
function framesBy(run: DialectRun, place: Place): (entry: LogEntry) => FrameWriter {
  const tell = teller(run);
  let state = followed(run);
  let damaged = false;
  return (entry) => {
    damaged ||= entry.sequence !== state.to + 1;
    const step = followEntry(state, entry);
    state = step.state;
    const writer = frameWriter(entry.sequence, place);
    for (const told of step.told) {
      // Of a run that cannot be read whole nothing is told but how it ended.
      if (!damaged) tell(told, writer);
      else if (told.type === "ended") tellEnd(told, writer);
    }
    return writer;
  };
}

const threadIdOf = ({ runId, thread }: DialectRun): string => thread?.threadId ?? runId;

/** Writes the frames of what is told, one after the other. */
function teller(run: DialectRun): (told: Told, writer: FrameWriter) => void {
  const { runId, thread, maxAttempts } = run;
  const modes = new Set(thread?.modes ?? ALL_MODES);
  const state = stateValues(thread?.base ?? { messages: [], values: {} });
  const names = { thread_id: threadIdOf(run), run_id: runId };
  const pieceOf = pieceWriter();
  let step = 0;
  /** Something came since the last `values` frame; a result is told before the next step at the latest. */
  let isStale = false;
  let hasResults = false;

  const tellValues = (writer: FrameWriter): void => {
    isStale = false;
    hasResults = false;
    if (modes.has("values")) writer.add("values", () => state.json());
  };
  const isTold = modes.has("messages-tuple");
  const metadata = (node: "model" | "tools"): string =>
    JSON.stringify({ langgraph_node: node, langgraph_step: step * 2 + (node === "model" ? 1 : 2), ...names });
  let modelMetadata = metadata("model");
  const tellPiece = (writer: FrameWriter, id: string, piece: Piece): void => {
    if (isTold) writer.add("messages", () => `[${pieceOf(id, piece)},${modelMetadata}]`);
  };

  return (told, writer) => {
    switch (told.type) {
      case "begun":
        return tellValues(writer);
      case "step":
        step = told.step;
        modelMetadata = metadata("model");
        if (hasResults) tellValues(writer);
        return;
      case "text":
        return tellPiece(writer, told.id, { text: told.text });
      case "reasoning":
        return tellPiece(writer, told.id, { reasoning: told.text });
      case "call piece": {
        const { id, index, toolCallId, toolName = null, isFirst, text } = told;
        return tellPiece(writer, id, { call: { index, id: isFirst ? toolCallId : null, name: toolName, args: text } });
      }
      case "call": {
        const { id, index, isPieced, call } = told;
        const whole = {
          index,
          id: call.toolCallId,
          name: call.toolName,
          args: call.inputJson ?? JSON.stringify(call.input),
        };
        if (!isPieced) tellPiece(writer, id, { call: whole });
        return;
      }
      case "withdrawn":
        // Readers of whole states alone have not seen it.
        if (isTold) writer.add("values", () => state.json());
        return;
      case "answered": {
        const message = answerMessage(told.answer);
        tellPiece(writer, told.answer.id, { end: told.answer });
        if (modes.has("updates")) writer.add("updates", () => JSON.stringify({ model: { messages: [message] } }));
        state.add(message);
        return tellValues(writer);
      }
      case "result": {
        const message = resultMessage(told.result);
        if (isTold) writer.add("messages", () => `[${JSON.stringify(message)},${metadata("tools")}]`);
        if (modes.has("updates")) writer.add("updates", () => JSON.stringify({ tools: { messages: [message] } }));
        state.add(message);
        hasResults = true;
        return;
      }
      case "title":
        state.setTitle(told.title);
        isStale = true;
        return;
      case "tried again":
        if (modes.has("custom")) writer.add("custom", () => JSON.stringify(retryOf(told, maxAttempts)));
        return;
      case "ended": {
        const { interrupts } = endingOf(told.outcome, told.pending);
        const waits = interrupts.length > 0;
        if (waits && modes.has("updates")) writer.add("updates", () => JSON.stringify({ __interrupt__: interrupts }));
        if ((waits || isStale || hasResults) && modes.has("values")) writer.add("values", () => state.json(interrupts));
        if (told.outcome.outcome === "error") {
          const { message, errorClass } = told.outcome.error;
          writer.add("error", () => JSON.stringify({ message, name: errorClass }));
        }
        return tellEnd(told, writer);
      }
      case "attempt failed":
      case "diagnostic":
        return;
    }
  };
}

function tellEnd({ outcome, pending }: Extract<Told, { type: "ended" }>, writer: FrameWriter): void {
  const { status, stopReason, error } = endingOf(outcome, pending);
  writer.add("custom", () => JSON.stringify({ type: "run_terminal", status, stop_reason: stopReason, error }));
  writer.addLast("end", "null");
}

function retryOf(
  { number, waitedMs, failure }: Extract<Told, { type: "tried again" }>,
  maxAttempts: number | undefined,
): Record<string, unknown> {
  const { failureClass: reason = "unknown", message = "The model's provider failed." } = failure;
  const count = maxAttempts === undefined ? {} : { max_attempts: maxAttempts };
  return { type: "llm_retry", attempt: number, ...count, wait_ms: waitedMs, reason, message };
}

/** Texts are nearly all of a stream: what a message's pieces have in common is written once. */
function pieceWriter(): (id: string, piece: Piece) => string {
  const START = '{"content":""';
  let last = "";
  let rest = "";
  return (id, piece) => {
    const { text, reasoning, call, end } = piece;
    if (text === undefined || reasoning !== undefined || call !== undefined || end !== undefined) {
      return JSON.stringify(pieceMessage(id, piece));
    }
    if (id !== last) {
      last = id;
      rest = JSON.stringify(pieceMessage(id, {})).slice(START.length);
    }
    return `{"content":${JSON.stringify(text)}${rest}`;
  };
}
