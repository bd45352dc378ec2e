// What every request builder needs of a start request: its messages, whichever way they were given, and shared checks.
import type { JsonRecord } from "../../schemas/json.ts";
import type { Message, StartRequest } from "../../schemas/run.ts";
import { exactValue } from "../wire/exact-json.ts";

/** `messages` win over `prompt`, as in IndeRun's own adapter. */
export function messagesOf(request: StartRequest): Message[] {
  return request.messages ?? [{ role: "user", content: request.prompt ?? "" }];
}

type Generation = NonNullable<StartRequest["generation"]>;

/** The parameters that mean something: an empty list of stop sequences is none. */
export function generationOf({ generation = {} }: StartRequest): Generation {
  const { stop, ...others } = generation;
  return stop === undefined || stop.length === 0 ? others : generation;
}

const parameters: ReadonlySet<string> = new Set(["maxOutputTokens", "temperature", "topP", "seed", "stop", "output"]);
/** Names of one request. */
const MAX_NAMES = 16;

/** Generation parameters that no adapter knows, by their names, cut to 64 UTF-16 units. */
export function unknownParameters({ generation = {} }: StartRequest): string[] {
  const names = Object.keys(generation).filter((name) => !parameters.has(name));
  return names.slice(0, MAX_NAMES).map((name) => `generation.${name.slice(0, 64)}`);
}

/** The same request, with an answer begun that the model is to go on with. One that the conversation itself has begun is made longer. */
export function withPrefill(request: StartRequest, text: string): StartRequest {
  const messages = messagesOf(request);
  const last = messages.at(-1);
  if (last?.role !== "assistant" || last.toolCalls !== undefined) {
    return { ...request, messages: [...messages, { role: "assistant", content: text }] };
  }
  const { content = "" } = last;
  const longer = typeof content === "string" ? content + text : [...content, { type: "text" as const, text }];
  return { ...request, messages: [...messages.slice(0, -1), { ...last, content: longer }] };
}

type ImagePart = { type: "image"; url?: string; data?: string; mediaType?: string };
export type Part = { type: "text"; text: string } | ImagePart;

/** An image as an address, for formats that take both in one field. */
export const imageAddress = ({ url, data, mediaType }: ImagePart): string => url ?? `data:${mediaType};base64,${data}`;

/** Content as parts; a plain string is one text part. */
export function partsOf(message: Exclude<Message, { role: "tool" }>): Part[] {
  const { content } = message;
  if (content === undefined) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { url, data, mediaType } = part;
    return {
      type: "image",
      ...(url !== undefined && { url }),
      ...(data !== undefined && { data }),
      ...(mediaType !== undefined && { mediaType }),
    };
  });
}

/** All text of a message's parts, in order. */
export function textOf(message: Exclude<Message, { role: "tool" }>): string {
  return partsOf(message)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("");
}

/** The tool whose call the result at `index` answers: ids may come again in later turns, so the nearest one before it. */
export function toolNameAt(messages: readonly Message[], index: number): string | undefined {
  const result = messages[index];
  if (result?.role !== "tool") return undefined;
  for (let before = index - 1; before >= 0; before--) {
    const message = messages[before];
    if (message?.role !== "assistant") continue;
    const call = message.toolCalls?.find(({ toolCallId }) => toolCallId === result.toolCallId);
    if (call !== undefined) return call.toolName;
  }
  return undefined;
}

/** Tools that the conversation has used and the request has forgotten, as far as is known of them. */
export function forgottenTools(
  { tools = [] }: StartRequest,
  messages: readonly Message[],
): NonNullable<StartRequest["tools"]> {
  const used = messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []).map(({ toolName }) => toolName) : [],
  );
  const forgotten = [...new Set(used)].filter((name) => !tools.some((tool) => tool.name === name));
  return forgotten.map((name) => ({ name, parameters: { type: "object" } }));
}

interface GivenInput {
  input: JsonRecord;
  inputJson?: string | undefined;
}

interface GivenOutput {
  output?: unknown;
  outputJson?: string | undefined;
}

/** A call's input as JSON text, with every digit. */
export const inputText = ({ input, inputJson }: GivenInput): string => inputJson ?? JSON.stringify(input);

/** A call's input for a body that holds it as a value, to be written by `JSON.stringify`. */
export const inputValue = ({ input, inputJson }: GivenInput): unknown => exactValue(inputJson, input);

/** A tool's output as the text a model reads, with every digit. */
export function outputText({ output, outputJson }: GivenOutput): string {
  return typeof output === "string" ? output : (outputJson ?? JSON.stringify(output) ?? "null");
}

/** A tool's output for a body that holds it as a value, to be written by `JSON.stringify`. */
export const outputValue = ({ output, outputJson }: GivenOutput): unknown => exactValue(outputJson, output);

/** `baseUrl` + path + configured query. */
export function urlOf(baseUrl: string | undefined, path: string, query: Record<string, string> | undefined): string {
  const url = new URL((baseUrl ?? "").replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url.href;
}

/** Configured headers win over the adapter's own, whatever their case: two spellings of one name would be sent joined. */
export function headersOf(
  own: Record<string, string>,
  configured: Record<string, string> | undefined,
): Record<string, string> {
  const lower = Object.entries(configured ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...own, ...Object.fromEntries(lower) };
}

/** The fields of messages with these roles that hold an image in a place where the format has none. */
export function unsentImages(messages: readonly Message[], roles: readonly Message["role"][]): string[] {
  const lost = messages.some(
    (message) =>
      message.role !== "tool" && roles.includes(message.role) && partsOf(message).some(({ type }) => type === "image"),
  );
  return lost ? ["messages.content.image"] : [];
}

/** For formats that take an image's bytes, but not its address. */
export function unsentImageUrls(messages: readonly Message[]): string[] {
  const lost = messages.some(
    (message) =>
      message.role !== "tool" && partsOf(message).some((part) => part.type === "image" && part.url !== undefined),
  );
  return lost ? ["messages.content.url"] : [];
}

/** For formats that have no mark for a tool's failure: its output goes as any other. */
export function unsentToolErrors(messages: readonly Message[]): string[] {
  return messages.some((message) => message.role === "tool" && message.isError === true) ? ["messages.isError"] : [];
}
