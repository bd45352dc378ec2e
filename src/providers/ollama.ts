// Ollama's native chat: one JSON object per line. Complete only with a line that says done: true.
import type { Target } from "../../schemas/config.ts";
import type { ProviderEvent, Verdict } from "../../schemas/provider.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { asArray, asCount, asName, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { parseBounded } from "../wire/json-bounded.ts";
import { lineReader, type Line } from "../wire/line-reader.ts";
import type { Stage } from "../wire/stage.ts";
import {
  generationOf,
  headersOf,
  inputValue,
  messagesOf,
  outputText,
  partsOf,
  textOf,
  toolNameAt,
  unsentImageUrls,
  unsentToolErrors,
  urlOf,
} from "./conversation.ts";
import { answerEnd, endingOf } from "./answer-end.ts";
import { errorFacts } from "./error-facts.ts";
import { httpFailure, inBandFailure } from "./http-failure.ts";
import type { Adapter, AdapterRequest, ReaderLimits } from "./provider.ts";
import { inputPiece, toolCallCollector } from "./tool-calls.ts";
import { untilVerdict } from "./until-verdict.ts";
import { knownCounts } from "./usage.ts";

export const ollama: Adapter = {
  request: ollamaRequest,
  reader: ollamaReader,
  failure: httpFailure,
  starts: (character) => character !== "<",
  continues: () => true,
};

export function ollamaReader({ maxEvent }: ReaderLimits): Stage<Uint8Array, ProviderEvent> {
  const lines = lineReader(maxEvent);
  const calls = toolCallCollector();
  let model: string | undefined;
  let done = false;

  const end = (events: ProviderEvent[], verdict: Verdict): void => {
    done = true;
    events.push(verdict);
  };

  const fail = (events: ProviderEvent[], message: string): void =>
    end(events, { type: "verdict", verdict: "failed", failure: { failureClass: "malformed", message } });

  const finish = (events: ProviderEvent[], entry: JsonRecord): void => {
    const usage = knownCounts({
      inputTokens: asCount(entry["prompt_eval_count"]),
      outputTokens: asCount(entry["eval_count"]),
    });
    if (usage !== undefined) events.push({ type: "usage", usage });
    const reason = asText(entry["done_reason"]) ?? "";
    done = true;
    // Calls come whole, so a broken one is a fault even at the length limit.
    events.push(...answerEnd({ finish: () => calls.finish(false) }, endingOf({}, reason)));
  };

  const entry = (events: ProviderEvent[], text: string): "json" | "not json" => {
    const parsed = parseBounded(text);
    const object = asRecord(parsed?.value);
    if (object === undefined) return parsed === undefined ? "not json" : "json";
    const facts = errorFacts(object);
    if (facts !== undefined) {
      end(events, { type: "verdict", verdict: "failed", failure: inBandFailure(facts) });
      return "json";
    }
    const named = asName(object["model"]);
    if (named !== undefined && model === undefined) events.push({ type: "model", model: (model = named) });
    const message = asRecord(object["message"]);
    const thinking = asText(message?.["thinking"]);
    if (thinking !== undefined) events.push({ type: "reasoning", text: thinking });
    const content = asText(message?.["content"]);
    if (content !== undefined) events.push({ type: "text", text: content });
    for (const item of asArray(message?.["tool_calls"])) {
      const named = asRecord(asRecord(item)?.["function"]);
      // Calls are whole and their indices are not to be trusted: each is a call of its own.
      events.push(
        ...calls.add({
          index: calls.size,
          id: asText(asRecord(item)?.["id"]),
          name: asText(named?.["name"]),
          input: inputPiece(named?.["arguments"]),
        }),
      );
    }
    if (calls.excessive) fail(events, "A tool call is larger than the limit.");
    else if (object["done"] === true) finish(events, object);
    return "json";
  };

  const frame = (events: ProviderEvent[], line: Line): void => {
    if ("tooLong" in line) fail(events, "A wire event is larger than the limit.");
    else if (line.text.trim() !== "" && entry(events, line.text) === "not json") {
      fail(events, "A wire event is not JSON.");
    }
  };

  return untilVerdict(lines, {
    isDone: () => done,
    frame,
    bodyEnd(events) {
      // The last line may lack its line end; half a line is a cut.
      if (lines.rest().trim() !== "") entry(events, lines.rest());
      if (!done) end(events, { type: "verdict", verdict: "truncated" });
    },
  });
}

function ollamaRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const { tools, toolChoice } = request;
  const messages = messagesOf(request);
  const body = {
    model: target.model,
    messages: messages.map((message, index) => wireMessage(message, toolNameAt(messages, index))),
    stream: true,
    options: { num_predict: maxOutputTokens, temperature, top_p: topP, seed, stop },
    format: output === "json" ? "json" : typeof output === "object" ? output.schema : undefined,
    ...(tools !== undefined &&
      tools.length > 0 &&
      toolChoice !== "none" && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: "function",
          function: { name, description, parameters },
        })),
      }),
  };
  return {
    url: urlOf(target.baseUrl, "/api/chat", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "application/x-ndjson",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [
      ...(toolChoice === "required" || typeof toolChoice === "object" ? ["toolChoice"] : []),
      ...unsentImageUrls(messages),
      ...unsentToolErrors(messages),
    ],
  };
}

/** A result names the tool, not only the call. */
function wireMessage(message: Message, toolName: string | undefined): Record<string, unknown> {
  if (message.role === "tool") {
    const { toolCallId } = message;
    return {
      role: "tool",
      tool_name: toolName,
      tool_call_id: toolCallId,
      content: outputText(message),
    };
  }
  const images = partsOf(message).flatMap((part) =>
    part.type === "image" && part.data !== undefined ? [part.data] : [],
  );
  const calls = message.role === "assistant" ? message.toolCalls : undefined;
  return {
    role: message.role,
    content: textOf(message),
    ...(images.length > 0 && { images }),
    ...(calls !== undefined && {
      tool_calls: calls.map((call) => ({
        id: call.toolCallId,
        function: { name: call.toolName, arguments: inputValue(call) },
      })),
    }),
  };
}
