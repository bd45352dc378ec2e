// The official `ollama` package reads the corpus of Ollama's chat: a second opinion on every stream.
import { Ollama, type ChatResponse } from "ollama";
import { ollamaFormat } from "../../support/corpus/ollama.ts";
import { OLLAMA_STREAM_TYPE } from "../../support/provider-bytes/ollama.ts";
import { compareWithOracle, countsOf, type OracleCall, type OracleReading } from "./oracle.ts";

compareWithOracle(ollamaFormat, OLLAMA_STREAM_TYPE, "/api/chat", {
  name: "npm ollama",
  compares: ["end", "text", "reasoning", "calls", "stopReason", "usage"],
  read,
  disagreements: {
    "whole tool calls in one line, then stop": {
      sdk: {
        stopReason: "stop",
        calls: [
          { id: undefined, name: "weather", input: { city: "北京" } },
          { id: "call_x", name: "weather", input: { city: "Rome" } },
        ],
      },
      because: "the done_reason is stop also after tool calls; an id that is missing is made by us",
    },
    "tool calls in lines of their own, all at index 0": {
      sdk: {
        stopReason: undefined,
        calls: [
          { id: undefined, name: "a", input: {} },
          { id: undefined, name: "a", input: { n: 2 } },
        ],
      },
      because: "there is no done_reason to hand on; an id that is missing is made by us",
    },
    "null lines and unknown fields": {
      sdk: { end: "error", text: "", stopReason: undefined, usage: undefined },
      because: "the SDK looks for an error in a line that is null",
    },
    "a line that is not JSON": {
      sdk: { end: "complete" },
      because: "the SDK prints a warning and passes over it",
    },
  },
});

async function read(host: string): Promise<OracleReading> {
  const client = new Ollama({ host });
  let [text, reasoning] = ["", ""];
  const calls: OracleCall[] = [];
  let last: ChatResponse | undefined;
  try {
    const stream = await client.chat({
      model: "test-model",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
    });
    for await (const part of stream) {
      text += part.message?.content ?? "";
      reasoning += part.message?.thinking ?? "";
      for (const call of part.message?.tool_calls ?? [])
        calls.push({
          id: "id" in call ? String(call.id) : undefined,
          name: call.function.name,
          input: call.function.arguments,
        });
      last = part;
    }
  } catch (error) {
    // The message is all that tells a missing end from other faults.
    const missing = error instanceof Error && error.message.startsWith("Did not receive done");
    return { end: missing ? "incomplete" : "error", text, reasoning, calls: [] };
  }
  return {
    end: "complete",
    text,
    reasoning,
    calls,
    stopReason: last?.done_reason,
    usage: countsOf({ inputTokens: last?.prompt_eval_count, outputTokens: last?.eval_count }),
  };
}
