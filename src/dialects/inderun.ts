// The native dialect: the log as it stands, as IndeRun StreamEvents, over SSE or NDJSON.
import type { LogEntry } from "../../schemas/event.ts";
import { SSE_HEARTBEAT, sseNamedFrame, ssePreamble } from "../wire/sse-writer.ts";
import type { EntryDialect } from "./dialect.ts";

/** Gives one StreamEvent as JSON text. The payload goes in as it is stored, byte for byte. */
export function streamEventJson(runId: string): (entry: LogEntry) => string {
  const envelope = envelopeOf(runId);
  const stamp = stamps();
  return (entry) => `${envelope}${entry.sequence}${stamp(entry)}${entry.payload}}`;
}

/** Up to the sequence. */
const envelopeOf = (runId: string): string => `{"schemaVersion":"1.0","runId":${JSON.stringify(runId)},"sequence":`;

/** Gives what stands between the sequence and the payload: the same for the tokens of one batch, and made once. */
function stamps(): (entry: LogEntry) => string {
  let last = { at: Number.NaN, type: "", text: "" };
  return ({ at, type }) => {
    if (at !== last.at || type !== last.type) {
      last = { at, type, text: `,"timestamp":${at},"type":${JSON.stringify(type)},"payload":` };
    }
    return last.text;
  };
}

export const indeRunSse: EntryDialect = {
  contentType: "text/event-stream; charset=utf-8",
  preamble: ssePreamble(),
  heartbeat: SSE_HEARTBEAT,
  replaces: true,
  ending: undefined,
  encoder({ runId }) {
    // `sseFrame` of the JSON text, from as few pieces as there can be: this is made once per token.
    const envelope = `\ndata: ${envelopeOf(runId)}`;
    const stamp = stamps();
    return (entry) => `id: ${entry.sequence}${envelope}${entry.sequence}${stamp(entry)}${entry.payload}}\n\n`;
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
