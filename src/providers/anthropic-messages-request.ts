// Builds an Anthropic Messages request. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import type { JsonRecord } from "../wire/json.ts";
import { idRules, withCallIds } from "./call-ids.ts";
import {
  forgottenTools,
  generationOf,
  headersOf,
  messagesOf,
  inputValue,
  outputText,
  partsOf,
  textOf,
  unsentImages,
  urlOf,
  type Part,
} from "./conversation.ts";
import type { AdapterRequest } from "./provider.ts";
import { conversationPrefix, thoughtsOf, withThoughts } from "./thoughts.ts";
import { turnsOf, type Block } from "./turns.ts";

/** The API requires a limit; this one is used when the request names none. */
const DEFAULT_MAX_TOKENS = 4096;

export function anthropicRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const messages = withCallIds(messagesOf(request), idRules.anthropic);
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const system = messages.flatMap((message) => (message.role === "system" ? [textOf(message)] : [])).join("\n\n");
  const { tools = [] } = request;
  const toolChoice = tools.length === 0 ? "none" : request.toolChoice;
  // The API wants some declared where a conversation has used any; they are not to be called then.
  const sent = tools.length === 0 ? forgottenTools(request, messages) : tools;
  const declared = sent.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  const prefixOf = conversationPrefix([system, declared]);
  const turns = turnsOf(messages, (message, before) => blocks(message, thoughtsOf(message, target, before, prefixOf)));
  const body = {
    model: target.model,
    max_tokens: maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    stream: true,
    ...(system.trim() !== "" && { system }),
    messages: turns,
    // The API takes 0 to 1 only.
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: topP,
    stop_sequences: stop,
    ...(declared.length > 0 && {
      tools: declared,
      tool_choice: toolChoice === undefined ? undefined : choice(toolChoice),
    }),
  };
  return {
    url: urlOf(target.baseUrl, "/v1/messages", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "text/event-stream",
        "anthropic-version": "2023-06-01",
        ...(key !== undefined && { "x-api-key": key }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [
      ...(seed === undefined ? [] : ["generation.seed"]),
      ...(output === undefined || output === "text" ? [] : ["generation.output"]),
      ...unsentImages(messages, ["system", "assistant"]),
      ...(temperature !== undefined && temperature > 1 ? ["generation.temperature"] : []),
    ],
    ...(declared.length > 0 && { prefix: prefixOf(turns) }),
  };
}

function blocks(message: Message, echo: JsonRecord | undefined): Block[] {
  if (message.role === "tool") {
    const { toolCallId, isError } = message;
    const content = outputText(message);
    return [{ type: "tool_result", tool_use_id: toolCallId, content, ...(isError === true && { is_error: true }) }];
  }
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const uses = calls.map((call) => ({
    type: "tool_use",
    id: call.toolCallId,
    name: call.toolName,
    input: inputValue(call),
  }));
  if (echo !== undefined) return withThoughts(textOf(message), uses, echo, (text) => ({ type: "text", text }));
  return [
    // Only a user's turn may hold images.
    ...partsOf(message).flatMap((part) => (part.type === "text" || message.role === "user" ? [block(part)] : [])),
    ...uses,
  ];
}

function block(part: Part): Block {
  if (part.type === "text") return { type: "text", text: part.text };
  const source =
    part.url === undefined
      ? { type: "base64", media_type: part.mediaType, data: part.data }
      : { type: "url", url: part.url };
  return { type: "image", source };
}

function choice(toolChoice: NonNullable<StartRequest["toolChoice"]>): Block {
  if (typeof toolChoice === "object") return { type: "tool", name: toolChoice.name };
  return { type: toolChoice === "required" ? "any" : toolChoice };
}
