// The embedded target: answers from inside the Worker with real OpenAI-format bytes, so that a fresh checkout streams without a key. Its model names a behaviour.
import type { Target } from "../../schemas/config.ts";
import { demoSourcesAnswer } from "./demo-sources.ts";
import { demoToolsAnswer, type DemoAnswer } from "./demo-tools.ts";
import { openAiChat } from "./openai-chat.ts";
import type { Adapter, AdapterRequest } from "./provider.ts";

type Behaviour = { paceMs: number; end: "complete" | "cut" | "silent" };

const behaviours: Record<string, Behaviour> = {
  "demo-answer": { paceMs: 40, end: "complete" },
  "demo-tools": { paceMs: 40, end: "complete" },
  "demo-slow": { paceMs: 500, end: "complete" },
  "demo-cut": { paceMs: 40, end: "cut" },
  "demo-silent": { paceMs: 40, end: "silent" },
};

/** Answers 429 at once. */
const BUSY = "demo-busy";
/** Says what fits the request, and calls the tools that it is offered. */
const TOOLS = "demo-tools";
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
  continues: () => false,
  scripted: true,
  wanted: () => undefined,
  respond,
};

function respond(request: AdapterRequest, target: Target, signal: AbortSignal): Response {
  const model = target.model ?? DEFAULT;
  if (model === BUSY) {
    const error = { message: "busy", type: "rate_limit_error", code: "rate_limit_exceeded" };
    return Response.json({ error }, { status: 429, headers: { "retry-after": "2" } });
  }
  const name = Object.hasOwn(behaviours, model) ? model : DEFAULT;
  const behaviour = behaviours[name];
  const answer: DemoAnswer =
    name === TOOLS ? demoToolsAnswer(request.body) : { reasoning: "", text: demoSourcesAnswer(request.body) ?? ANSWER };
  const body = behaviour === undefined ? null : stream(name, behaviour, answer, signal);
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function stream(
  model: string,
  { paceMs, end }: Behaviour,
  { reasoning, text, call }: DemoAnswer,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const deltas: unknown[] = [
    ...wordsOf(reasoning).map((word) => ({ reasoning_content: word })),
    ...wordsOf(text).map((word) => ({ content: word })),
    ...(call === undefined ? [] : callDeltas(call)),
  ];
  const shown = end === "cut" ? deltas.slice(0, 12) : deltas;
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
      const delta = shown[position++];
      if (delta !== undefined) {
        controller.enqueue(chunk(delta));
        return;
      }
      if (end === "complete") {
        const tokens = { prompt_tokens: 12, completion_tokens: shown.length, total_tokens: 12 + shown.length };
        controller.enqueue(chunk({}, call === undefined ? "stop" : "tool_calls"));
        controller.enqueue(chunk({}, null, tokens));
        controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      }
      controller.close();
    },
  });
}

const wordsOf = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? [];

/** As providers send a call: its name first, then its input in pieces. */
function callDeltas({ id, name, input }: NonNullable<DemoAnswer["call"]>): unknown[] {
  const pieces = JSON.stringify(input).match(/[^]{1,12}/g) ?? [];
  return [
    { tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: "" } }] },
    ...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  ];
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
