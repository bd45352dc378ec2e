// Three ways from an OpenAI stream's bytes to its events: ours, npm `openai`, and the AI SDK's `@ai-sdk/openai-compatible`. Each
// gives back the text it read, so that none can win by reading less.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { Stream } from "openai/streaming";
import type { AdapterId } from "../../schemas/config.ts";
import type { Adapter } from "../../src/providers/provider.ts";

const MAX_EVENT = 16 * 1024 * 1024;
const SSE = { headers: { "content-type": "text/event-stream" } };

export type Adapters = Readonly<Record<AdapterId, Adapter>>;

/** The adapters of a checkout. */
export async function adaptersOf(tree: string): Promise<Adapters> {
  const { adapters }: { adapters: Adapters } = await import(
    pathToFileURL(path.join(tree, "src/providers/index.ts")).href
  );
  return adapters;
}

/** Reads packets that are at hand, as the object's read loop does. Throws when the answer is not complete. */
export function readPackets(adapter: Adapter, packets: Iterable<Uint8Array>): { text: string; events: number } {
  const stage = adapter.reader({ maxEvent: MAX_EVENT });
  let text = "";
  let events = 0;
  let complete = false;
  const count = (batch: ReturnType<typeof stage.feed>): void => {
    for (const event of batch) {
      if (event.type === "text") text += event.text;
      if (event.type === "verdict") complete = event.verdict === "complete";
      events++;
    }
  };
  for (const packet of packets) count(stage.feed(packet));
  count(stage.end());
  if (!complete) throw new Error("the answer was not complete");
  return { text, events };
}

/** The same from a stream, as the other two get it. */
export async function readStream(adapter: Adapter, packets: readonly Uint8Array<ArrayBuffer>[]): Promise<string> {
  const stage = adapter.reader({ maxEvent: MAX_EVENT });
  const reader = streamOf(packets).getReader();
  let text = "";
  const read = (batch: ReturnType<typeof stage.feed>): void => {
    for (const event of batch) if (event.type === "text") text += event.text;
  };
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value !== undefined) read(stage.feed(value));
  }
  read(stage.end());
  return text;
}

/** npm `openai`: the stream class that its client gives an application. */
export async function readWithOpenAi(packets: readonly Uint8Array<ArrayBuffer>[]): Promise<string> {
  const response = new Response(streamOf(packets), SSE);
  let text = "";
  for await (const chunk of Stream.fromSSEResponse<ChatCompletionChunk>(response, new AbortController())) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
}

/** The AI SDK's model, with a fetch that answers at once. */
export async function readWithAiSdk(packets: readonly Uint8Array<ArrayBuffer>[]): Promise<string> {
  const provider = createOpenAICompatible({
    name: "bench",
    baseURL: "http://127.0.0.1/v1",
    fetch: () => Promise.resolve(new Response(streamOf(packets), SSE)),
  });
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }] }];
  const { stream } = await provider.chatModel("bench-model").doStream({ prompt });
  const reader = stream.getReader();
  let text = "";
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (value?.type === "text-delta") text += value.delta;
  }
  return text;
}

function streamOf(packets: readonly Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const packet = packets[next++];
      if (packet === undefined) controller.close();
      else controller.enqueue(packet);
    },
  });
}
