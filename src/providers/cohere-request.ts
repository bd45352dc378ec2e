// Builds a Cohere Chat (v2) request. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { idRules, withCallIds } from "./call-ids.ts";
import {
  generationOf,
  headersOf,
  imageAddress,
  messagesOf,
  inputText,
  outputText,
  partsOf,
  textOf,
  unsentImages,
  unsentToolErrors,
  urlOf,
} from "./conversation.ts";
import type { AdapterRequest } from "./provider.ts";

/** What the API takes at most. */
const MAX_TOP_P = 0.99;
const MAX_STOPS = 5;

export function cohereRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const messages = withCallIds(messagesOf(request), idRules.any);
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const { tools, choice } = toolsOf(request);
  const json = output !== undefined && output !== "text";
  const body = {
    model: target.model,
    messages: messages.map(wireMessage),
    stream: true,
    max_tokens: maxOutputTokens,
    temperature,
    p: topP === undefined ? undefined : Math.min(topP, MAX_TOP_P),
    seed,
    stop_sequences: stop?.slice(0, MAX_STOPS),
    // The API refuses a form beside tools.
    ...(json &&
      tools.length === 0 && {
        response_format: { type: "json_object", ...(typeof output === "object" && { json_schema: output.schema }) },
      }),
    ...(tools.length > 0 && { tools, tool_choice: choice }),
  };
  return {
    url: urlOf(target.baseUrl, "/v2/chat", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        // For any other type the API sends bare lines instead of events.
        accept: "text/event-stream",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [
      ...(topP !== undefined && topP > MAX_TOP_P ? ["generation.topP"] : []),
      ...(stop !== undefined && stop.length > MAX_STOPS ? ["generation.stop"] : []),
      ...(json && tools.length > 0 ? ["generation.output"] : []),
      ...unsentImages(messages, ["system", "assistant"]),
      ...unsentToolErrors(messages),
    ],
  };
}

/** One tool is demanded by sending no other: the API knows no names as a choice. */
function toolsOf({ tools = [], toolChoice }: StartRequest): { tools: unknown[]; choice: string | undefined } {
  const sent = typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
  return {
    tools: sent.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    choice: toolChoice === "none" ? "NONE" : toolChoice === "auto" || toolChoice === undefined ? undefined : "REQUIRED",
  };
}

function wireMessage(message: Message): Record<string, unknown> {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.toolCallId, content: outputText(message) };
  }
  if (message.role === "user") return { role: "user", content: wireContent(message) };
  const text = textOf(message);
  if (message.role === "system" || message.toolCalls === undefined) return { role: message.role, content: text };
  const calls = message.toolCalls.map((call) => ({
    id: call.toolCallId,
    type: "function",
    function: { name: call.toolName, arguments: inputText(call) },
  }));
  // What is said before calls is their plan.
  return { role: "assistant", ...(text !== "" && { tool_plan: text }), tool_calls: calls };
}

function wireContent(message: Exclude<Message, { role: "tool" }>): unknown {
  if (typeof message.content === "string") return message.content;
  return partsOf(message).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: imageAddress(part) } },
  );
}
