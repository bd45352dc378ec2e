// Small calls to the DeerFlow family that its socket tests need. Asserts nothing but that an answer is what it is read as.
import { randomUUID } from "node:crypto";
import { MODEL, openAgentHouse, type AgentHouse } from "./agent-house.ts";
import { framesOf, type WireFrame } from "./api.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "./provider-bytes/openai-chat.ts";
import { streamScript } from "./provider-bytes/scripts.ts";

export type Json = Record<string, unknown>;

export interface DeerHouse extends AgentHouse {
  /** Below `/api`. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** A thread of its own. */
  thread(fields?: Json): Promise<string>;
  /** A whole run in this thread, read to its end. */
  run(threadId: string, fields?: Json): Promise<DeerRun>;
  /** A run whose answer does not end, that somebody reads and has seen the beginning of. */
  hanging(threadId: string, fields?: Json): Promise<Hanging>;
}

export interface Hanging {
  runId: string;
  /** What comes after the first text, to the end. */
  rest(): Promise<string>;
  leave(): Promise<void>;
}

export interface DeerRun {
  runId: string;
  headers: Headers;
  raw: string;
  frames: WireFrame[];
  /** The last state that was told. */
  values: Json;
}

export async function openDeerHouse(
  limits: Record<string, number> = {},
  config: Json = {},
  vars: Record<string, string> = {},
): Promise<DeerHouse> {
  const house = await openAgentHouse(limits, () => ({ config, vars }));
  const base = `${house.server.origin}/api`;
  const call: DeerHouse["call"] = (method, path, body, headers) => callDeer(base, method, path, body, headers);
  return {
    ...house,
    call,
    async thread(fields = {}) {
      const { thread_id: threadId } = await jsonOf(await call("POST", "/threads", fields));
      return String(threadId);
    },
    async run(threadId, fields = {}) {
      return runOf(await call("POST", `/threads/${threadId}/runs/stream`, saying("Hi", fields)));
    },
    async hanging(threadId, fields = {}) {
      house.provider.on(MODEL, endless());
      const body = saying("Hi", { stream_mode: ["values", "messages-tuple"], ...fields });
      return seenToBegin(await call("POST", `/threads/${threadId}/runs/stream`, body));
    },
  };
}

/** An answer that begins and does not end by itself. */
export const endless = () =>
  streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["Once "], finishReason: null, done: false }), { end: "hang" });

async function seenToBegin(response: Response): Promise<Hanging> {
  if (response.status !== 200 || response.body === null) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const readUntil = async (isSeen: (text: string) => boolean): Promise<string> => {
    let text = "";
    while (!isSeen(text)) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    return text;
  };
  // As a piece of this run: its first state may hold the same words of an earlier one.
  await readUntil((text) => /^event: messages\ndata: [^\n]*"Once "/m.test(text));
  return {
    runId: runIdOf(response),
    rest: () => readUntil(() => false),
    leave: () => reader.cancel(),
  };
}

/** The run that an answer names. */
export const runIdOf = ({ headers }: Response): string => headers.get("content-location")?.split("/").at(-1) ?? "";

export function callDeer(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${base}${path}`, {
    method,
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** The body of a run that a user's message starts. */
export const saying = (text: string, fields: Json = {}): Json => ({
  input: { messages: [{ role: "user", content: text }] },
  ...fields,
});

export async function runOf(response: Response): Promise<DeerRun> {
  const raw = await response.text();
  if (response.status !== 200) throw new Error(`no run: ${response.status} ${raw}`);
  const frames = framesOf(raw);
  return {
    runId: runIdOf(response),
    headers: response.headers,
    raw,
    frames,
    values: lastValues(frames),
  };
}

export function lastValues(frames: readonly WireFrame[]): Json {
  const data: Json = JSON.parse(frames.findLast(({ event }) => event === "values")?.data ?? "{}");
  return data;
}

/** Texts of a state's messages, in order. */
export function textsOf({ messages }: Json): unknown[] {
  return Array.isArray(messages) ? messages.map((message: unknown) => Object(message).content) : [];
}

export const events = (frames: readonly WireFrame[]): (string | undefined)[] => frames.map(({ event }) => event);

/** A JSON object answered with 200. */
export async function jsonOf(response: Response): Promise<Json> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const value: Json = JSON.parse(text);
  return value;
}

export async function listOf(response: Response): Promise<Json[]> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const value: Json[] = JSON.parse(text);
  return value;
}

/** The status and the detail of a refusal. */
export async function refusalOf(response: Response): Promise<[status: number, detail: unknown]> {
  const body: Json = JSON.parse(await response.text());
  return [response.status, body["detail"]];
}

export const newThreadId = (): string => randomUUID();
