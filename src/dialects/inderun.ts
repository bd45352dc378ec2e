// The native dialect: the log as it stands, as IndeRun StreamEvents, over SSE or NDJSON.
import type { LogEntry } from "../../schemas/event.ts";
import { SSE_HEARTBEAT, sseFrame, sseNamedFrame, ssePreamble } from "../wire/sse-writer.ts";
import type { EntryDialect } from "./dialect.ts";

/** Gives one StreamEvent as JSON text. The payload goes in as it is stored, byte for byte. */
export function streamEventJson(runId: string): (entry: LogEntry) => string {
  const run = `{"schemaVersion":"1.0","runId":${JSON.stringify(runId)},"sequence":`;
  // Tokens come many at a time.
  let last = { at: Number.NaN, type: "", between: "" };
  return ({ sequence, at, type, payload }) => {
    if (at !== last.at || type !== last.type) {
      last = { at, type, between: `,"timestamp":${at},"type":${JSON.stringify(type)},"payload":` };
    }
    return `${run}${sequence}${last.between}${payload}}`;
  };
}

export const indeRunSse: EntryDialect = {
  contentType: "text/event-stream; charset=utf-8",
  preamble: ssePreamble(),
  heartbeat: SSE_HEARTBEAT,
  replaces: true,
  ending: undefined,
  encoder({ runId }) {
    const json = streamEventJson(runId);
    return (entry) => sseFrame(entry.sequence, json(entry));
  },
  failure: (error) => sseNamedFrame("error", JSON.stringify(error)),
};

export const indeRunNdjson: EntryDialect = {
  contentType: "application/x-ndjson",
  preamble: "",
  // JSON readers skip white space; without a line end it is no line of its own.
  heartbeat: " ",
  replaces: true,
  ending: undefined,
  encoder({ runId }) {
    const json = streamEventJson(runId);
    return (entry) => `${json(entry)}\n`;
  },
  failure: (error) => `${JSON.stringify(error)}\n`,
};
