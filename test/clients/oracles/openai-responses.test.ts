// The official `openai` package reads the corpus of Responses: a second opinion on every stream. Its events are taken one by one,
// as its documentation does; its accumulator refuses the short events that the corpus is made of.
import OpenAI from "openai";
import type { Response } from "openai/resources/responses/responses";
import { openAiResponsesFormat } from "../../support/corpus/openai-responses.ts";
import { RESPONSES_STREAM_TYPE } from "../../support/provider-bytes/openai-responses.ts";
import { parseJson } from "../../../src/wire/json.ts";
import { compareWithOracle, countsOf, type OracleCall, type OracleReading } from "./oracle.ts";

compareWithOracle(openAiResponsesFormat, RESPONSES_STREAM_TYPE, "/responses", {
  name: "npm openai",
  compares: ["end", "text", "calls", "stopReason", "usage"],
  read,
  disagreements: {
    "calls only as finished items, all at one index": {
      sdk: { calls: [{ id: "call_b", name: "time", input: { zone: "UTC" } }] },
      because: "who keeps items by their index loses one of two at the same place",
    },
    "two parts, one of them stated, and a call that only the response lists": {
      sdk: { calls: [{ id: "call_a", name: "weather", input: { city: "北京" } }] },
      because: "the reading of the SDK's events keeps what was streamed; the finished response lists more",
    },
    "text only in its done event": {
      sdk: { text: "" },
      because: "who appends deltas shows nothing where there are none",
    },
    "a hosted tool, unknown types, keepalives and [DONE]": {
      sdk: { end: "error", text: "", stopReason: undefined },
      because: "the SDK hands on an event that is null, and its reader trips over it",
    },
    "a refusal": {
      sdk: { stopReason: "stop" },
      because: "the response is completed; that we call a refusal by its name is our reading",
    },
    "an item that changes its type": {
      sdk: {
        end: "complete",
        stopReason: "tool_calls",
        calls: [{ id: "call_a", name: "weather", input: undefined }],
      },
      because: "the SDK checks no event against those before it",
    },
  },
});

async function read(baseURL: string): Promise<OracleReading> {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, logLevel: "off" });
  /** By output index; the input is text until the end. */
  const open = new Map<number, { id: string; name: string; input: string }>();
  let text = "";
  let final: Response | undefined;
  try {
    const stream = await client.responses.create({ model: "test-model", input: "Hi", stream: true });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta" || event.type === "response.refusal.delta") text += event.delta;
      if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
        const { item } = event;
        if (item.type === "function_call")
          open.set(event.output_index, { id: item.call_id, name: item.name, input: item.arguments });
        if (item.type === "custom_tool_call")
          open.set(event.output_index, { id: item.call_id, name: item.name, input: item.input });
      }
      const call = "output_index" in event ? open.get(event.output_index) : undefined;
      if (call !== undefined) {
        if (event.type === "response.function_call_arguments.delta") call.input += event.delta;
        if (event.type === "response.function_call_arguments.done") call.input = event.arguments;
        if (event.type === "response.custom_tool_call_input.delta") call.input += event.delta;
        if (event.type === "response.custom_tool_call_input.done") call.input = event.input;
      }
      if (event.type === "response.completed" || event.type === "response.incomplete") final = event.response;
      if (event.type === "response.failed" || event.type === "error") return { end: "error", text, calls: [] };
    }
  } catch {
    return { end: "error", text, calls: [] };
  }
  if (final === undefined) return { end: "incomplete", text, calls: [] };
  const calls: OracleCall[] = [...open.values()].map(({ id, name, input }) => ({
    id,
    name,
    input: parseJson(input)?.value ?? input,
  }));
  const cut = final.incomplete_details?.reason;
  return {
    end: "complete",
    text,
    calls,
    stopReason: cut === "max_output_tokens" ? "length" : (cut ?? (calls.length > 0 ? "tool_calls" : "stop")),
    usage: countsOf({
      inputTokens: final.usage?.input_tokens,
      outputTokens: final.usage?.output_tokens,
      totalTokens: final.usage?.total_tokens,
      reasoningTokens: final.usage?.output_tokens_details?.reasoning_tokens,
    }),
  };
}
