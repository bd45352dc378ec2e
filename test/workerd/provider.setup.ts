// A scripted provider in Node for the tests inside workerd, which cannot open a server of their own.
import type { TestProject } from "vitest/node";
import { startFaultProvider } from "../support/fault-provider/server.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";

/** Words of the quick answer, in order; each is one packet. */
const words = Array.from({ length: 60 }, (_, index) => `word${index} `);

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
  project.provide("providerOrigin", provider.origin);
  project.provide("quickText", words.join(""));
  return () => provider.stop();
}
