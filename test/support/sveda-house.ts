// A server with scripted models and tools, and visitors that talk to it as Sveda's clients do. Asserts nothing.
import { openAgentHouse, MODEL, type AgentHouse } from "./agent-house.ts";
import { post } from "./api.ts";
import type { FaultProvider, ProviderCall } from "./fault-provider/server.ts";
import { errorScript } from "./provider-bytes/scripts.ts";
import type { Script } from "./fault-provider/script.ts";
import { says } from "./agent-house.ts";
import { mint, svedaFrames, withToken, type SvedaFrame } from "./sveda.ts";

export interface SvedaHouse extends AgentHouse {
  base: string;
  visitor(fields?: Record<string, unknown>): Promise<Visitor>;
}

export interface Turn {
  status: number;
  headers: Headers;
  raw: string;
  frames: SvedaFrame[];
  /** The types of the frames, in order. */
  types: string[];
  runId: string;
}

export interface Visitor {
  name: string;
  headers: Record<string, string>;
  post(path: string, body: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** A whole turn. */
  turn(body: Record<string, unknown>, headers?: Record<string, string>): Promise<Turn>;
  /** The stored chat; `undefined` when there is none. */
  chat(chatId: string): Promise<StoredChat | undefined>;
}

export interface StoredChat extends Record<string, unknown> {
  messages: { id: string; role: string; content: string; parts: Record<string, unknown>[] }[];
  conversationHistory: Record<string, unknown>[];
}

export async function openSvedaHouse(
  sveda: Record<string, unknown> = {},
  limits: Record<string, number> = {},
  more: Record<string, unknown> = {},
): Promise<SvedaHouse> {
  const house = await openAgentHouse(limits, () => ({ config: { sveda, ...more } }));
  const base = `${house.server.origin}/sveda`;
  return { ...house, base, visitor: (fields) => visitorOf(house.server.origin, fields) };
}

async function visitorOf(origin: string, fields: Record<string, unknown> = {}): Promise<Visitor> {
  const base = `${origin}/sveda`;
  const { token, visitor_id: name } = await mint(origin, fields);
  const own = withToken(token);
  const send: Visitor["post"] = (path, body, headers, signal) =>
    post(`${base}${path}`, body, { ...own, ...headers }, signal);
  const get: Visitor["get"] = (path, headers) => fetch(`${base}${path}`, { headers: { ...own, ...headers } });
  return {
    name,
    headers: own,
    post: send,
    get,
    turn: async (body, headers) => turnOf(await send("/stream", body, headers)),
    async chat(chatId) {
      const response = await get(`/chat-histories/${chatId}`);
      if (response.status !== 200) return undefined;
      const answer: { history: StoredChat } = JSON.parse(await response.text());
      return answer.history;
    },
  };
}

async function turnOf(response: Response): Promise<Turn> {
  const raw = await response.text();
  const frames = response.status === 200 ? svedaFrames(raw) : [];
  return {
    status: response.status,
    headers: response.headers,
    raw,
    frames,
    types: frames.map(({ type }) => type),
    runId: response.headers.get("x-run-id") ?? "",
  };
}

export const GENERATED_TITLE = "A better title";
const isTitleQuestion = ({ body }: ProviderCall): boolean => body.includes("Write a title of at most");
/** What is asked to sum up begins the question: a conversation may hold the same words. */
const isSummaryQuestion = ({ body }: ProviderCall): boolean => body.includes('"content":"Sum up ');

/** What the model says to each of its calls, titles and summaries apart, which are always the same. A further call is answered with an error. */
export function modelSays(provider: FaultProvider, ...scripts: readonly (Script | (() => Script))[]): void {
  let index = 0;
  provider.on(MODEL, (call) => {
    if (isTitleQuestion(call)) return says(GENERATED_TITLE);
    if (isSummaryQuestion(call)) return says("A summary.");
    const script = scripts[index++] ?? errorScript(400, {}, "{}");
    return typeof script === "function" ? script() : script;
  });
}

/** The calls of the model, titles and summaries apart. */
export const modelCalls = (provider: FaultProvider): ProviderCall[] =>
  provider.calls(MODEL).filter((call) => !isTitleQuestion(call) && !isSummaryQuestion(call));

/** What the model was sent with its call of this number. */
export function sentBody(provider: FaultProvider, index: number): SentBody {
  const body: SentBody = JSON.parse(modelCalls(provider)[index]?.body ?? "{}");
  return body;
}

export interface SentBody {
  model: string;
  messages: Record<string, unknown>[];
  tools?: { function: { name: string } }[];
}
