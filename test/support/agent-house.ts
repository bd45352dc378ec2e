// A server whose runs call tools: scripted models in two wire formats, and tools that are paths of the same scripted provider.
import { post, startBody, type WireEvent } from "./api.ts";
import { startFaultProvider, type FaultProvider, type ProviderCall } from "./fault-provider/server.ts";
import type { Script } from "./fault-provider/script.ts";
import { startBare } from "./bare-server.ts";
import type { Holdfast } from "./holdfast-server.ts";
import { openAiChat, OPENAI_STREAM_TYPE, type OpenAiChatOptions } from "./provider-bytes/openai-chat.ts";
import { errorScript, streamScript } from "./provider-bytes/scripts.ts";
import { follow } from "./run-reader.ts";
import { openAi, pathOf, scriptedConfig } from "./scripted-targets.ts";

/** Where the first target of the route `default` is asked. */
export const MODEL = pathOf(openAi);
export const toolPath = (name: string): string => `/tools/${name}`;

export interface AgentHouse {
  provider: FaultProvider;
  server: Holdfast;
  runs: string;
  stop(): Promise<void>;
}

/**
 * Tools: `clock` and `stock` run at once, `slow` has 400 ms, `wipe` and `pay` need an approval. Each answers only what its path
 * is scripted to. `more`: what is added to the configuration, given the origin of the scripted provider.
 */
export async function openAgentHouse(
  limits: Record<string, number> = {},
  more: (origin: string) => { config?: Record<string, unknown>; vars?: Record<string, string> } = () => ({}),
): Promise<AgentHouse> {
  const provider = await startFaultProvider();
  const { config: added = {}, vars = {} } = more(provider.origin);
  const tool = (name: string, fields: Record<string, unknown> = {}) => ({
    name,
    description: `The tool ${name}.`,
    url: `${provider.origin}${toolPath(name)}`,
    parameters: { type: "object", properties: { of: { type: "string" } } },
    ...fields,
  });
  const config = {
    ...Object(scriptedConfig(provider.origin, { limits })),
    tools: [
      tool("clock"),
      tool("stock"),
      tool("slow", { timeoutMs: 400 }),
      tool("wipe", { confirmation: "required", mode: "delete" }),
      tool("pay", { confirmation: "required", mode: "write" }),
    ],
    ...added,
  };
  const server = await startBare({ config, vars });
  return {
    provider,
    server,
    runs: `${server.origin}/v1/runs`,
    async stop() {
      await server.stop();
      await provider.stop();
    },
  };
}

/** A model's answer; the calls are `[id, name, input]`. */
export function says(
  text: string,
  calls: readonly (readonly [id: string, name: string, input?: Record<string, unknown>])[] = [],
  options: OpenAiChatOptions = {},
): Script {
  const events = openAiChat({
    ...(text !== "" && { deltas: [text] }),
    toolCalls: calls.map(([id, name, input = {}]) => ({ id, name, arguments: [JSON.stringify(input)] })),
    ...options,
  });
  return streamScript(OPENAI_STREAM_TYPE, events);
}

/** One answer per call of the model, in order; a further call is answered with an error status. */
export const inOrder =
  (...scripts: readonly Script[]) =>
  (_: ProviderCall, index: number): Script =>
    scripts[index] ?? errorScript(400, {}, "{}");

/** What a tool answers: JSON with status 200. */
export const gives = (output: unknown): Script => errorScript(200, {}, JSON.stringify(output));

export interface Told {
  events: readonly WireEvent[];
  outcome: Record<string, unknown>;
  runId: string;
}

/** Starts a run with all of the server's tools, and reads it to its end. */
export async function play(runs: string, fields: Record<string, unknown>): Promise<Told> {
  const reader = await follow(runs, { body: startBody({ serverTools: ["*"], ...fields }) });
  const events = await reader.rest();
  return { events, outcome: events.at(-1)?.payload ?? {}, runId: reader.runId };
}

/** Goes on from a run: the answer of the POST. */
export function goOn(
  runs: string,
  previousRunId: string,
  fields: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { prompt: _, ...body } = startBody({ previousRunId, ...fields });
  return post(runs, body, headers);
}

/** The payloads of one type. */
export const payloads = (events: readonly WireEvent[], type: string): Record<string, unknown>[] =>
  events.filter((event) => event.type === type).map(({ payload }) => payload);

/** The messages that the model was sent with its call of this number. */
export function sentMessages(provider: FaultProvider, index: number, path = MODEL): Record<string, unknown>[] {
  const body: { messages: Record<string, unknown>[] } = JSON.parse(provider.calls(path)[index]?.body ?? "{}");
  return body.messages;
}
