// Builds an OpenAI Chat Completions request. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import {
  headersOf,
  messagesOf,
  outputText,
  partsOf,
  textOf,
  unsentImages,
  unsentToolErrors,
  urlOf,
} from "./conversation.ts";
import type { AdapterRequest } from "./provider.ts";

export function openAiChatRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const { maxOutputTokens, temperature, topP, seed, stop, output } = request.generation ?? {};
  const { tools, toolChoice } = request;
  const messages = messagesOf(request);
  const url = urlOf(target.baseUrl, "/chat/completions", target.query);
  const body = {
    model: target.model,
    messages: messages.map(wireMessage),
    stream: true,
    // Mistral refuses fields that it does not know, and reports usage unasked.
    stream_options: new URL(url).hostname === "api.mistral.ai" ? undefined : { include_usage: true },
    max_tokens: maxOutputTokens,
    temperature,
    top_p: topP,
    seed,
    stop,
    response_format: responseFormat(output),
    ...(tools !== undefined &&
      tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: "function",
          function: { name, description, parameters },
        })),
        tool_choice:
          typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.name } } : toolChoice,
      }),
  };
  return {
    url,
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [...unsentImages(messages, ["system", "assistant"]), ...unsentToolErrors(messages)],
  };
}

function wireMessage(message: Message): Record<string, unknown> {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.toolCallId, content: outputText(message.output) };
  }
  // Only a user's message may hold images.
  if (message.role === "user") return { role: "user", content: wireContent(message) };
  if (message.role === "system") return { role: "system", content: textOf(message) };
  const calls = message.toolCalls?.map(({ toolCallId, toolName, input }) => ({
    id: toolCallId,
    type: "function",
    function: { name: toolName, arguments: JSON.stringify(input) },
  }));
  const text = textOf(message);
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls !== undefined && { tool_calls: calls }),
  };
}

function wireContent(message: Exclude<Message, { role: "tool" }>): unknown {
  if (typeof message.content === "string") return message.content;
  return partsOf(message).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: part.url ?? `data:${part.mediaType};base64,${part.data}` } },
  );
}

function responseFormat(output: NonNullable<StartRequest["generation"]>["output"]): unknown {
  if (output === undefined || output === "text") return undefined;
  if (output === "json") return { type: "json_object" };
  return { type: "json_schema", json_schema: { name: "output", schema: output.schema } };
}
