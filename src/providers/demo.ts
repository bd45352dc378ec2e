// The embedded target: answers from inside the Worker with real OpenAI-format bytes, so that a fresh checkout streams without a key. Its model names a behaviour.
import type { Target } from "../../schemas/config.ts";
import { openAiChat } from "./openai-chat.ts";
import type { Adapter, AdapterRequest } from "./provider.ts";

type Behaviour = { model: string; paceMs: number; end: "complete" | "cut" | "silent" };

const behaviours: Record<string, Behaviour> = {
  "demo-answer": { model: "demo-answer", paceMs: 40, end: "complete" },
  "demo-slow": { model: "demo-slow", paceMs: 500, end: "complete" },
  "demo-cut": { model: "demo-cut", paceMs: 40, end: "cut" },
  "demo-silent": { model: "demo-silent", paceMs: 40, end: "silent" },
};

/** Answers 429 at once. */
const BUSY = "demo-busy";
const DEFAULT = "demo-answer";

/** Written to be read while it streams. */
const ANSWER = [
  "This is the embedded demo target. It speaks the wire format of a real provider from inside the Worker,",
  "word by word, so that you can try to break the stream: reload this page, close the tab, pull the cable,",
  "kill the server. Every word has a number that was reserved on disk before you saw it, and when you come back",
  "you get exactly what you missed. Nothing is lost and nothing is shown twice.",
  "Point a target of the configuration at a real model when you have seen enough. ✓",
].join(" ");

/** True for a model name the demo target knows. */
export const isDemoModel = (model: string): boolean => model === BUSY || Object.hasOwn(behaviours, model);

export const demo: Adapter = {
  ...openAiChat,
  request: (request, target, key) =>
    openAiChat.request(request, { ...target, baseUrl: "http://demo.invalid/v1", model: target.model ?? DEFAULT }, key),
  // It says its own piece, whatever it is asked.
  continues: () => false,
  respond,
};

function respond(_request: AdapterRequest, target: Target, signal: AbortSignal): Response {
  const model = target.model ?? DEFAULT;
  if (model === BUSY) {
    const error = { message: "busy", type: "rate_limit_error", code: "rate_limit_exceeded" };
    return Response.json({ error }, { status: 429, headers: { "retry-after": "2" } });
  }
  const behaviour = behaviours[model] ?? behaviours[DEFAULT];
  const words = ANSWER.match(/\S+\s*/g) ?? [];
  const body = behaviour === undefined ? null : stream(behaviour, words, signal);
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function stream({ model, paceMs, end }: Behaviour, words: string[], signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const shown = end === "cut" ? words.slice(0, 12) : words;
  const chunk = (delta: unknown, finishReason: string | null = null, usage?: unknown): Uint8Array =>
    encoder.encode(
      `data: ${JSON.stringify({
        id: "chatcmpl-demo",
        object: "chat.completion.chunk",
        model,
        choices: usage === undefined ? [{ index: 0, delta, finish_reason: finishReason }] : [],
        ...(usage !== undefined && { usage }),
      })}\n\n`,
    );
  let position = -1;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (position === -1) {
        position = 0;
        controller.enqueue(chunk({ role: "assistant", content: "" }));
        return;
      }
      await (end === "silent" ? aborted(signal) : pause(paceMs, signal));
      // As an aborted fetch does: whoever reads is told, and does not wait for ever.
      if (signal.aborted) return controller.error(signal.reason);
      const word = shown[position++];
      if (word !== undefined) {
        controller.enqueue(chunk({ content: word }));
        return;
      }
      if (end === "complete") {
        const tokens = { prompt_tokens: 12, completion_tokens: shown.length, total_tokens: 12 + shown.length };
        controller.enqueue(chunk({}, "stop"));
        controller.enqueue(chunk({}, null, tokens));
        controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      }
      controller.close();
    },
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
    if (signal.aborted) finish();
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
