// Builds a Gemini streamGenerateContent request. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { asText } from "../wire/json.ts";
import { idRules, withCallIds } from "./call-ids.ts";
import {
  generationOf,
  headersOf,
  inputValue,
  messagesOf,
  outputValue,
  partsOf,
  textOf,
  toolNameAt,
  unsentImages,
  urlOf,
  type Part,
} from "./conversation.ts";
import { echoFor } from "./echo.ts";
import type { AdapterRequest } from "./provider.ts";

export function geminiRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const messages = withCallIds(messagesOf(request), idRules.any);
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const { tools, toolChoice } = request;
  const system = messages.filter(({ role }) => role === "system");
  const body = {
    ...(system.length > 0 && { systemInstruction: { parts: system.flatMap(textParts) } }),
    contents: contentsOf(messages, target),
    generationConfig: {
      maxOutputTokens,
      temperature,
      topP,
      seed,
      stopSequences: stop,
      responseMimeType: output === undefined || output === "text" ? undefined : "application/json",
      responseJsonSchema: typeof output === "object" ? output.schema : undefined,
    },
    ...(tools !== undefined &&
      tools.length > 0 && {
        tools: [
          {
            functionDeclarations: tools.map(({ name, description, parameters }) => ({
              name,
              description,
              parametersJsonSchema: parameters,
            })),
          },
        ],
        toolConfig: toolChoice === undefined ? undefined : { functionCallingConfig: callingConfig(toolChoice) },
      }),
  };
  return {
    url: urlOf(target.baseUrl, geminiPath(target.model ?? "", "streamGenerateContent"), {
      alt: "sse",
      ...target.query,
    }),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: (target.query?.["alt"] ?? "sse") === "sse" ? "text/event-stream" : "application/json",
        ...(key !== undefined && { "x-goog-api-key": key }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: unsentImages(messages, ["system"]),
  };
}

/** Models up to Gemini 3.1 go on from a begun answer; later ones refuse a conversation that ends in one. */
export const continuesAnswers = ({ model }: Target): boolean =>
  /^(models\/)?gemini-([12]\.|3-|3\.1-)/.test(model ?? "");

/** A model may be named with its collection: `models/NAME`, `tunedModels/NAME`. */
export const geminiModel = (model: string): string => (model.includes("/") ? model : `models/${model}`);

export const geminiPath = (model: string, method: string): string =>
  `/v1beta/${geminiModel(model).split("/").map(encodeURIComponent).join("/")}:${method}`;

type WirePart = Record<string, unknown>;
interface Content {
  role: "user" | "model";
  parts: WirePart[];
}

/**
 * Neighbours of one role become one turn: the results of parallel calls must stand together, as the calls do. Results and
 * the user's own words stay apart, since a turn of results holds one per call.
 */
function contentsOf(messages: readonly Message[], target: Target): Content[] {
  const contents: Content[] = [];
  let last: Message["role"] | undefined;
  for (const [index, message] of messages.entries()) {
    if (message.role === "system") continue;
    const parts = message.role === "tool" ? [resultPart(message, toolNameAt(messages, index))] : turn(message, target);
    if (parts.length === 0) continue;
    if (message.role === last) for (const part of parts) contents.at(-1)?.parts.push(part);
    else contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
    last = message.role;
  }
  return contents;
}

function turn(message: Exclude<Message, { role: "tool" }>, target: Target): WirePart[] {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const signatures = calls.map((call) => asText(echoFor(target, call)?.["thoughtSignature"]));
  // Of parallel calls only the first is signed, and the others must not be.
  const unsigned = checksSignatures(target.model ?? "") && signatures.every((signature) => signature === undefined);
  return [
    ...partsOf(message).map(wirePart),
    ...calls.map((call, index) => {
      const thoughtSignature = signatures[index] ?? (unsigned ? UNSIGNED : undefined);
      const functionCall = { id: call.toolCallId, name: call.toolName, args: inputValue(call) };
      return { functionCall, ...(thoughtSignature !== undefined && { thoughtSignature }) };
    }),
  ];
}

/** The documented signature of calls whose own is not at hand; from Gemini 3 on calls without any are refused. */
const UNSIGNED = "skip_thought_signature_validator";

const checksSignatures = (model: string): boolean => !/^(models\/)?(gemma|gemini-[12]\b)/.test(model);

function resultPart(message: Extract<Message, { role: "tool" }>, toolName: string | undefined): WirePart {
  const { toolCallId, isError } = message;
  const output = outputValue(message);
  const response = isError === true ? { error: output } : { output };
  return { functionResponse: { id: toolCallId, name: toolName ?? toolCallId, response } };
}

const textParts = (message: Message): WirePart[] => (message.role === "tool" ? [] : [{ text: textOf(message) }]);

function wirePart(part: Part): WirePart {
  if (part.type === "text") return { text: part.text };
  const { url, data, mediaType } = part;
  return url === undefined
    ? { inlineData: { mimeType: mediaType, data } }
    : { fileData: { fileUri: url, ...(mediaType !== undefined && { mimeType: mediaType }) } };
}

function callingConfig(toolChoice: NonNullable<StartRequest["toolChoice"]>): Record<string, unknown> {
  if (typeof toolChoice === "object") return { mode: "ANY", allowedFunctionNames: [toolChoice.name] };
  return { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[toolChoice] };
}
