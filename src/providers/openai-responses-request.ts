// Builds an OpenAI Responses request that leaves nothing stored at the provider. Reads no secret but the key it is given.
import type { Target } from "../../schemas/config.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { idRules, withCallIds } from "./call-ids.ts";
import {
  generationOf,
  headersOf,
  messagesOf,
  inputText,
  outputText,
  partsOf,
  textOf,
  unsentImages,
  unsentToolErrors,
  urlOf,
} from "./conversation.ts";
import { echoFor } from "./echo.ts";
import type { AdapterRequest } from "./provider.ts";
import { withThoughts } from "./thoughts.ts";

export function openAiResponsesRequest(request: StartRequest, target: Target, key: string | undefined): AdapterRequest {
  const { maxOutputTokens, temperature, topP, seed, stop, output } = generationOf(request);
  const { tools, toolChoice } = request;
  const messages = withCallIds(messagesOf(request), idRules["openai-responses"]);
  const format = textFormat(output);
  const body = {
    model: target.model,
    input: messages.flatMap((message) => inputItems(message, target)),
    stream: true,
    store: false,
    max_output_tokens: maxOutputTokens,
    temperature,
    top_p: topP,
    ...(format !== undefined && { text: { format } }),
    ...(tools !== undefined &&
      tools.length > 0 && {
        // Without the word the API makes every parameter required.
        tools: tools.map(({ name, description, parameters }) => ({
          type: "function",
          name,
          description,
          parameters,
          strict: false,
        })),
        tool_choice: typeof toolChoice === "object" ? { type: "function", name: toolChoice.name } : toolChoice,
        include: sealsWhenAsked(target.model ?? "") ? ["reasoning.encrypted_content"] : undefined,
      }),
  };
  return {
    url: urlOf(target.baseUrl, "/responses", target.query),
    headers: headersOf(
      {
        "content-type": "application/json",
        accept: "text/event-stream",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      target.headers,
    ),
    body: JSON.stringify(body),
    unsupported: [
      ...(seed === undefined ? [] : ["generation.seed"]),
      ...(stop === undefined || stop.length === 0 ? [] : ["generation.stop"]),
      ...unsentImages(messages, ["system", "assistant"]),
      ...unsentToolErrors(messages),
    ],
  };
}

/** Models that reason, and may seal their reasoning only when asked; those that do not reason refuse to be asked. */
const sealsWhenAsked = (model: string): boolean => /^(o\d|gpt-5)(?!.*chat)/.test(model);

type InputItem = Record<string, unknown>;

/** One message is several items: its text, and each call apart. */
function inputItems(message: Message, target: Target): InputItem[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: textOf(message) }];
    case "user":
      return [{ role: "user", content: userContent(message) }];
    case "assistant": {
      const text = textOf(message);
      const calls = (message.toolCalls ?? []).map((call) => ({
        type: "function_call",
        call_id: call.toolCallId,
        name: call.toolName,
        arguments: inputText(call),
      }));
      const [first] = message.toolCalls ?? [];
      const echo = first === undefined ? undefined : echoFor(target, first);
      const said = (piece: string) => ({ role: "assistant", content: [{ type: "output_text", text: piece }] });
      return withThoughts(text, calls, echo ?? {}, said);
    }
    case "tool":
      return [{ type: "function_call_output", call_id: message.toolCallId, output: outputText(message) }];
  }
}

function userContent(message: Extract<Message, { role: "user" }>): unknown {
  if (typeof message.content === "string") return message.content;
  return partsOf(message).map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : {
          type: "input_image",
          detail: "auto",
          image_url: part.url ?? `data:${part.mediaType};base64,${part.data}`,
        },
  );
}

function textFormat(output: NonNullable<StartRequest["generation"]>["output"]): InputItem | undefined {
  if (output === undefined || output === "text") return undefined;
  if (output === "json") return { type: "json_object" };
  return { type: "json_schema", name: "output", schema: output.schema };
}
