// The kebab dialect: the log of a run as answer_event.v1 lines, and the canonical answer.v1 or error.v1 as the last one. The last line of an event carries its number.
import * as v from "valibot";
import type { AskPlan } from "../../schemas/ask.ts";
import { payloadSchemas, type LogEntry } from "../../schemas/event.ts";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { answerOf } from "../kebab/answer.ts";
import { askError } from "../kebab/ask-error.ts";
import { ingestLines } from "../kebab/ingest-lines.ts";
import { PROMPT_VERSION } from "../kebab/versions.ts";
import { parseJson } from "../wire/json.ts";
import { hitsOf } from "../wire/log-entry.ts";
import type { EntryDialect } from "./dialect.ts";

export const kebabNdjson: EntryDialect = {
  contentType: "application/x-ndjson",
  preamble: "",
  // JSON readers skip white space; without a line end it is no line of its own.
  heartbeat: " ",
  // What was withdrawn is replaced by the text of `final`.
  replaces: true,
  ending: "",
  encoder(run) {
    return (entry) => {
      const { ask = nothingFound, ingest } = run;
      if (ingest !== undefined) return numbered(ingestLines(entry, ingest, dateText(entry.at)), entry.sequence);
      if (entry.type === "content_delta") return token(entry, ask);
      if (entry.type === "retrieval") return retrievalDone(entry);
      return entry.type === "terminal" ? ending(entry, ask) : "";
    };
  },
  failure: (error) => line(askError(error)),
};

/** Of a run that was asked no question of documents. */
const nothingFound: AskPlan = {
  mode: "lexical",
  k: 0,
  scoreGate: 0,
  traceId: "ret_00000000",
  hits: [],
  used: 0,
  promptVersion: PROMPT_VERSION,
};

/** The last one has the number. */
const numbered = (lines: readonly object[], sequence: number): string =>
  lines.map((one, index) => line(index === lines.length - 1 ? { ...one, sequence } : one)).join("");

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

const event = (kind: string, at: number) => ({ schema_version: "answer_event.v1", kind, ts: dateText(at) });

const dateText = (at: number): string => new Date(at).toISOString();

function token({ sequence, at, payload, text }: LogEntry, { conversation }: AskPlan): string {
  const delta = text ?? textIn(payload);
  return line({ ...event("token", at), delta, turn_index: conversation?.turnIndex ?? null, sequence });
}

function textIn(payload: string): string {
  const parsed = v.safeParse(payloadSchemas.content_delta, parseJson(payload)?.value);
  return parsed.success ? parsed.output.text : "";
}

function retrievalDone({ sequence, at, payload }: LogEntry): string {
  const parsed = v.safeParse(payloadSchemas.retrieval, parseJson(payload)?.value);
  if (!parsed.success) return "";
  const { trace } = parsed.output;
  const hits = hitsOf(parsed.output);
  return line({ ...event("retrieval_done", at), hits, ...(trace !== undefined && { trace }), sequence });
}

/** `final` only where a model came to an end: what was refused before one was asked, cancelled or failed has the last line alone. */
function ending({ sequence, at, payload }: LogEntry, ask: AskPlan): string {
  const outcome = v.safeParse(outcomeSchema, parseJson(payload)?.value);
  if (!outcome.success) return "";
  if (outcome.output.outcome === "error") return line({ ...askError(outcome.output.error), sequence });
  const answer = answerOf(ask, outcome.output, at, dateText(at));
  const isAsked = ask.refusal === undefined || ask.refusal.reason === "multi_hop_decompose_failed";
  const isFinal = outcome.output.outcome === "completed" && isAsked;
  return (isFinal ? line({ ...event("final", at), answer }) : "") + line({ ...answer, sequence });
}
