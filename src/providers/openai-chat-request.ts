// Builds an OpenAI Chat Completions request, as the target's preset would have it. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import {
  generationOf,
  headersOf,
  imageAddress,
  messagesOf,
  outputText,
  partsOf,
  textOf,
  unsentImages,
  unsentToolErrors,
  urlOf,
} from "./conversation.ts";
import { continuationOf, presetOf, type ChatFormat, type Continuation, type Preset } from "./openai-presets.ts";
import type { AdapterRequest } from "./provider.ts";

export function openAiChatRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const preset = presetOf(target);
  const { fields, unsupported } = chatFields(request, preset, continuationOf(target));
  return {
    url: chatUrl(target, preset),
    headers: headersOf(
      { "content-type": "application/json", accept: "text/event-stream", ...keyHeader(preset, key) },
      target.headers,
    ),
    body: JSON.stringify({ model: target.model, ...fields }),
    unsupported,
  };
}

interface Fields {
  fields: Record<string, unknown>;
  unsupported: string[];
}

/** The body but for the model's name. `continuation`: how this target goes on from a begun answer. */
export function chatFields(request: StartRequest, preset: ChatFormat, continuation: Continuation): Fields {
  const { maxOutputTokens, temperature, topP, seed, stop } = generationOf(request);
  const whole = messagesOf(request);
  const messages = whole.flatMap((message) => sendable(message, preset));
  const output = responseFormat(request, preset);
  const tools = toolFields(request, preset);
  const idOf = toolIds(messages, preset);
  const last = messages.at(-1);
  const begun = last?.role === "assistant" && (last.toolCalls ?? []).length === 0 && textOf(last) !== "";
  const fields = {
    messages: messages.map((message) => ({
      ...wireMessage(message, preset, idOf),
      ...(begun && message === last && continuation === "prefix" && { prefix: true }),
    })),
    stream: true,
    stream_options: preset.streamOptions ? { include_usage: true } : undefined,
    [preset.maxTokens]: maxOutputTokens,
    temperature,
    top_p: topP,
    ...(preset.seed !== undefined && { [preset.seed]: seed }),
    stop: preset.stop ? stop : undefined,
    ...output.fields,
    ...tools.fields,
    ...(begun &&
      continuation === "continue_final_message" && { continue_final_message: true, add_generation_prompt: false }),
  };
  return {
    fields,
    unsupported: [
      ...(seed !== undefined && preset.seed === undefined ? ["generation.seed"] : []),
      ...(stop !== undefined && !preset.stop ? ["generation.stop"] : []),
      ...output.unsupported,
      ...tools.unsupported,
      ...(preset.tools || !whole.some(isOfTools) ? [] : ["messages.toolCalls"]),
      ...unsentImages(whole, preset.images ? ["system", "assistant"] : ["system", "assistant", "user"]),
      ...(preset.tools ? unsentToolErrors(whole) : []),
    ],
  };
}

/** The message as far as the server takes it: none where nothing is left. */
function sendable(message: Message, { tools, noText }: ChatFormat): Message[] {
  if (!tools && message.role === "tool") return [];
  if (message.role !== "assistant") return [message];
  const calls = tools ? message.toolCalls : undefined;
  if ((calls ?? []).length === 0 && textOf(message) === "" && noText === null) return [];
  return [{ ...message, toolCalls: calls }];
}

const isOfTools = (message: Message): boolean =>
  message.role === "tool" || (message.role === "assistant" && (message.toolCalls ?? []).length > 0);

function chatUrl({ baseUrl = "", model = "", query }: Target, preset: Preset): string {
  const address = (baseUrl === "" ? (preset.baseUrl ?? "") : baseUrl).replace(/\/+$/, "");
  if (preset.rootPath === undefined || new URL(address).pathname !== "/") {
    return urlOf(address, "/chat/completions", query);
  }
  const path = preset.rootPath.path.replace("{model}", () => encodeURIComponent(model));
  return urlOf(address, path, { ...preset.rootPath.query, ...query });
}

function keyHeader({ keyHeader: name }: Preset, key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  return { [name]: name === "api-key" ? key : `Bearer ${key}` };
}

const nothing: Fields = { fields: {}, unsupported: [] };

function toolFields({ tools, toolChoice }: StartRequest, preset: ChatFormat): Fields {
  if (tools === undefined || tools.length === 0) return nothing;
  if (!preset.tools) return { fields: {}, unsupported: ["tools"] };
  const named = typeof toolChoice === "object";
  const choice = named
    ? { type: "function", function: { name: toolChoice.name } }
    : toolChoice === "required"
      ? preset.required
      : toolChoice;
  return {
    fields: {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
      tool_choice: named && !preset.namedTool ? undefined : choice,
    },
    unsupported: named && !preset.namedTool ? ["toolChoice"] : [],
  };
}

function responseFormat({ generation }: StartRequest, preset: ChatFormat): Fields {
  const output = generation?.output;
  if (output === undefined || output === "text") return nothing;
  if (output === "json" ? !preset.jsonObject : preset.jsonSchema === "none") {
    return { fields: {}, unsupported: ["generation.output"] };
  }
  if (output === "json") return { fields: { response_format: { type: "json_object" } }, unsupported: [] };
  const { schema } = output;
  const json_schema = preset.jsonSchema === "bare" ? schema : { name: "output", schema };
  return { fields: { response_format: { type: "json_schema", json_schema } }, unsupported: [] };
}

type IdOf = (toolCallId: string) => string;

/** Ids as the server will have them. Those it would refuse are numbered in order of appearance, so that a longer conversation gives the same. */
function toolIds(messages: readonly Message[], { toolIds: rule }: ChatFormat): IdOf {
  if (rule === "any") return (id) => id;
  const ids = messages.flatMap((message) => {
    if (message.role === "tool") return [message.toolCallId];
    return message.role === "assistant" ? (message.toolCalls ?? []).map(({ toolCallId }) => toolCallId) : [];
  });
  const kept = new Set(ids.filter((id) => /^[A-Za-z0-9]{9}$/.test(id)));
  const foreign = [...new Set(ids)].filter((id) => !kept.has(id));
  const numbers = Array.from({ length: ids.length + kept.size }, (_, index) => String(index + 1).padStart(9, "0"));
  const free = numbers.filter((id) => !kept.has(id));
  const renamed = new Map(foreign.map((id, index) => [id, free[index] ?? id]));
  return (id) => renamed.get(id) ?? id;
}

function wireMessage(message: Message, preset: ChatFormat, idOf: IdOf): Record<string, unknown> {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: idOf(message.toolCallId), content: outputText(message.output) };
  }
  // Only a user's message may hold images.
  if (message.role === "user") return { role: "user", content: preset.images ? wireContent(message) : textOf(message) };
  if (message.role === "system") return { role: "system", content: textOf(message) };
  const calls = message.toolCalls?.map(({ toolCallId, toolName, input }) => ({
    id: idOf(toolCallId),
    type: "function",
    function: { name: toolName, arguments: JSON.stringify(input) },
  }));
  const text = textOf(message);
  return {
    role: "assistant",
    content: text === "" ? preset.noText : text,
    ...(calls !== undefined && { tool_calls: calls }),
  };
}

function wireContent(message: Exclude<Message, { role: "tool" }>): unknown {
  if (typeof message.content === "string") return message.content;
  return partsOf(message).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: imageAddress(part) } },
  );
}
