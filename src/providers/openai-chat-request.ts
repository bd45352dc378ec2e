// Builds an OpenAI Chat Completions request, as the target's preset would have it. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import type { JsonRecord } from "../wire/json.ts";
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
import {
  continuationOf,
  presetOf,
  type ChatFormat,
  type Continuation,
  type Echoed,
  type Preset,
} from "./openai-presets.ts";
import { echoFor } from "./echo.ts";
import type { AdapterRequest } from "./provider.ts";

export function openAiChatRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const preset = presetOf(target);
  const { fields, unsupported } = chatFields(request, target, preset, continuationOf(target));
  return {
    url: serverUrl(target, preset, "/chat/completions"),
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
export function chatFields(
  request: StartRequest,
  target: Target,
  preset: ChatFormat,
  continuation: Continuation,
): Fields {
  const { maxOutputTokens, temperature, topP, seed, stop } = generationOf(request);
  const whole = withCallIds(messagesOf(request), idRules[preset.toolIds]);
  const messages = whole.flatMap((message) => sendable(message, preset));
  const output = responseFormat(request, preset);
  const tools = toolFields(request, preset);
  const last = messages.at(-1);
  const begun = last?.role === "assistant" && (last.toolCalls ?? []).length === 0 && textOf(last) !== "";
  const reasons = preset.reasons && ((request.tools ?? []).length > 0 || messages.some(isOfTools));
  const fields = {
    messages: messages.map((message) => ({
      ...(reasons && message.role === "assistant" && { reasoning_content: "" }),
      ...wireMessage(message, preset, (call) => picked(echoFor(target, call) ?? {}, preset.echoes)),
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

/** Where a target of this preset serves `path`. */
export function serverUrl({ baseUrl = "", model = "", query }: Target, preset: Preset, path: string): string {
  const address = (baseUrl === "" ? (preset.baseUrl ?? "") : baseUrl).replace(/\/+$/, "");
  if (preset.rootPath === undefined || new URL(address).pathname !== "/") return urlOf(address, path, query);
  const root = preset.rootPath.path.replace("{model}", () => encodeURIComponent(model));
  return urlOf(address, root + path, { ...preset.rootPath.query, ...query });
}

export function keyHeader({ keyHeader: name }: Preset, key: string | undefined): Record<string, string> {
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

/** The fields of an answer that this target wants back with its calls. */
export function wantedBack(echo: JsonRecord, target: Target): JsonRecord | undefined {
  const wanted = picked(echo, presetOf(target).echoes);
  return Object.keys(wanted).length === 0 ? undefined : wanted;
}

const picked = (echo: JsonRecord, names: readonly Echoed[]): JsonRecord =>
  Object.fromEntries(names.filter((name) => name in echo).map((name) => [name, echo[name]]));

type Call = NonNullable<Extract<Message, { role: "assistant" }>["toolCalls"]>[number];

function wireMessage(
  message: Message,
  preset: ChatFormat,
  echoOf: (call: Call) => JsonRecord,
): Record<string, unknown> {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.toolCallId, content: outputText(message) };
  }
  // Only a user's message may hold images.
  if (message.role === "user") return { role: "user", content: preset.images ? wireContent(message) : textOf(message) };
  if (message.role === "system") return { role: "system", content: textOf(message) };
  const calls = message.toolCalls?.map((call) => ({
    id: call.toolCallId,
    type: "function",
    function: { name: call.toolName, arguments: inputText(call) },
    extra_content: echoOf(call)["extra_content"],
  }));
  const [first] = message.toolCalls ?? [];
  const { extra_content: _own, ...reasoning } = first === undefined ? {} : echoOf(first);
  const text = textOf(message);
  return {
    role: "assistant",
    content: text === "" ? preset.noText : text,
    ...reasoning,
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
