// A scripted provider in Node for the tests inside workerd, which cannot open a server of their own.
import type { TestProject } from "vitest/node";
import { startFaultProvider } from "../support/fault-provider/server.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { errorScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { embedWords, textsIn } from "../support/word-vectors.ts";

/** Words of the quick answer, in order; each is one packet. */
const words = Array.from({ length: 60 }, (_, index) => `word${index} `);

const call = (id: string, name: string) => ({ id, name, arguments: ["{}"] });

/** Two steps with tool calls, then the answer; which comes next is read off the conversation. */
function agentAnswer(body: string) {
  const { messages, tools }: { messages: { tool_calls?: unknown }[]; tools?: unknown[] } = JSON.parse(body);
  // Nobody but a run that calls tools asks this model for an answer: the rest are questions beside it.
  if (tools === undefined) return streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ['"An aside."\n'] }));
  const steps = messages.filter((message) => message.tool_calls !== undefined).length;
  const answers = [
    { deltas: ["Looking. "], toolCalls: [call("a", "once"), call("b", "again")] },
    { deltas: ["More. "], toolCalls: [call("c", "once")] },
    { deltas: ["Done."] },
  ];
  return streamScript(OPENAI_STREAM_TYPE, openAiChat(answers[Math.min(steps, 2)]));
}

/** Splits a question, is content with what is found, and answers from it; which comes next is read off the rules that it is given. */
function researchAnswer(body: string) {
  const deltas = body.includes("You split a question")
    ? ['["What is a cursor?"]']
    : body.includes("You decide whether")
      ? ["[]"]
      : ["It is a ", "number [#1]."];
  return streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas }));
}

declare module "vitest" {
  export interface ProvidedContext {
    providerOrigin: string;
    quickText: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provider = await startFaultProvider();
  const events = openAiChat({ deltas: words, finishReason: "stop", done: true });
  provider.on("/quick/chat/completions", streamScript(OPENAI_STREAM_TYPE, events, { perPacket: 1, delayMs: 2 }));
  provider.on("/agent/chat/completions", ({ body }) => agentAnswer(body));
  provider.on("/research/chat/completions", ({ body }) => researchAnswer(body));
  for (const path of ["/tools/once", "/tools/again"]) {
    provider.on(path, errorScript(200, {}, JSON.stringify({ done: path })));
  }
  // Tests inside workerd ask here how often each tool call was made.
  provider.on("/tools/calls", () => {
    const made = provider.calls().filter(({ path }) => path === "/tools/once" || path === "/tools/again");
    return errorScript(200, {}, JSON.stringify(made.map(({ path, headers }) => [path, headers["idempotency-key"]])));
  });
  provider.on("/embed/embeddings", ({ body }) => embedWords(body));
  // As above, of texts that were embedded: how many each request brought.
  provider.on("/embed/calls", () => {
    const made = provider.calls().filter(({ path }) => path === "/embed/embeddings");
    return errorScript(200, {}, JSON.stringify(made.map(({ body }) => textsIn(body))));
  });
  project.provide("providerOrigin", provider.origin);
  project.provide("quickText", words.join(""));
  return () => provider.stop();
}
