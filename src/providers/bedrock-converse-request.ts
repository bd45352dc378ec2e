// Builds a Bedrock ConverseStream request. Sends a bearer key; credentials that sign are left to the signature.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import type { JsonRecord } from "../wire/json.ts";
import { idRules, withCallIds } from "./call-ids.ts";
import { isCredentials } from "./bedrock-converse-signature.ts";
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
  unsentImageUrls,
  urlOf,
} from "./conversation.ts";
import type { AdapterRequest } from "./provider.ts";
import { conversationPrefix, thoughtsOf, withThoughts } from "./thoughts.ts";
import { turnsOf, type Block } from "./turns.ts";

export function bedrockConverseRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const messages = withCallIds(messagesOf(request), idRules.anthropic);
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const said = messages.flatMap((message) => (message.role === "system" ? [textOf(message)] : []));
  const system = said.filter((text) => text.trim() !== "").map((text) => ({ text }));
  const tools = toolsOf(request, messages);
  const inference = {
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    // The API takes 0 to 1 only.
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stopSequences: stop }),
  };
  const prefixOf = conversationPrefix([system, tools]);
  const turns = turnsOf(messages, (message, before) =>
    blocksOf(message, thoughtsOf(message, target, before, prefixOf)),
  );
  const body = {
    messages: turns,
    ...(system.length > 0 && { system }),
    ...(Object.keys(inference).length > 0 && { inferenceConfig: inference }),
    ...(tools.length > 0 && { toolConfig: { tools, toolChoice: choiceOf(request.toolChoice) } }),
  };
  return {
    url: urlOf(target.baseUrl, `/model/${escapeSegment(target.model ?? "")}/converse-stream`, target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "application/vnd.amazon.eventstream",
        ...(key !== undefined && !isCredentials(key) && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [
      ...(seed === undefined ? [] : ["generation.seed"]),
      ...(output === undefined || output === "text" ? [] : ["generation.output"]),
      ...(request.toolChoice === "none" && tools.length > 0 ? ["toolChoice"] : []),
      ...unsentFormats(messages),
      ...unsentImageUrls(messages),
      ...(temperature !== undefined && temperature > 1 ? ["generation.temperature"] : []),
    ],
    ...(tools.length > 0 && { prefix: prefixOf(turns) }),
  };
}

/** By RFC 3986, as the signature escapes it a second time: model ids hold `:`, and ARNs `/`. */
function escapeSegment(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

function blocksOf(message: Message, echo: JsonRecord | undefined): Block[] {
  if (message.role === "tool") {
    const { toolCallId, isError } = message;
    const content = [{ text: outputText(message) }];
    return [{ toolResult: { toolUseId: toolCallId, content, ...(isError === true && { status: "error" }) } }];
  }
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const uses = calls.map((call) => {
    return { toolUse: { toolUseId: call.toolCallId, name: call.toolName, input: inputValue(call) } };
  });
  if (echo !== undefined) return withThoughts(textOf(message), uses, echo, (text) => ({ text }));
  return [
    ...partsOf(message).flatMap((part): Block[] => {
      if (part.type === "text") return [{ text: part.text }];
      const format = imageFormats[part.mediaType ?? ""];
      // Only a user's turn may hold images.
      if (message.role !== "user" || part.data === undefined || format === undefined) return [];
      return [{ image: { format, source: { bytes: part.data } } }];
    }),
    ...uses,
  ];
}

const imageFormats: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

function unsentFormats(messages: readonly Message[]): string[] {
  const unknown = messages.some(
    (message) =>
      message.role === "user" &&
      partsOf(message).some((part) => part.type === "image" && part.data !== undefined && !isSent(part.mediaType)),
  );
  return unknown ? ["messages.content.image"] : unsentImages(messages, ["system", "assistant"]);
}

const isSent = (mediaType = ""): boolean => Object.hasOwn(imageFormats, mediaType);

/** The API wants every tool declared that the conversation has used, so `none` can only leave them out when it has used none. */
function toolsOf(request: StartRequest, messages: readonly Message[]): Block[] {
  const { tools = [], toolChoice } = request;
  const used = messages.some((message) => message.role === "assistant" && message.toolCalls !== undefined);
  if (!used && toolChoice === "none") return [];
  return [...tools, ...forgottenTools(request, messages)].map(({ name, description, parameters }) => ({
    toolSpec: { name, ...(description !== "" && { description }), inputSchema: { json: parameters } },
  }));
}

function choiceOf(toolChoice: StartRequest["toolChoice"]): Block | undefined {
  if (typeof toolChoice === "object") return { tool: { name: toolChoice.name } };
  switch (toolChoice) {
    case "auto":
      return { auto: {} };
    case "required":
      return { any: {} };
    case "none":
    case undefined:
      return undefined;
  }
}
