// Builds a provider's request from the fields of a start request, for tests that look at what is sent; and one conversation
// with all that a conversation can hold. It judges nothing.
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { adapters } from "../../src/providers/index.ts";
import type { StreamFormat } from "./corpus/corpus-stream.ts";

export type Fields = Partial<Omit<StartRequest, "schemaVersion" | "task">>;

/** The request with its body parsed. The target is model `m-1` at `https://api.example/base`, but for its fields given here. */
export function build(adapter: StreamFormat, fields: Fields, target: Partial<Target> = {}, key?: string) {
  const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, ...fields };
  const whole: Target = { id: "t", adapter, baseUrl: "https://api.example/base", model: "m-1", ...target };
  const { url, headers, body, unsupported } = adapters[adapter].request(request, whole, key);
  const parsed: unknown = JSON.parse(body);
  return { url, headers, body: parsed, unsupported };
}

/** Every role, an image, tool calls with and without text, tool results of both kinds. */
export const conversation: NonNullable<StartRequest["messages"]> = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image", data: "iVBORw0K", mediaType: "image/png" },
    ],
  },
  {
    role: "assistant",
    content: "Let me look.",
    toolCalls: [{ toolCallId: "c1", toolName: "look", input: { at: "image" } }],
  },
  { role: "tool", toolCallId: "c1", output: { seen: ["cat"] } },
  { role: "assistant", toolCalls: [{ toolCallId: "c2", toolName: "name", input: {} }] },
  { role: "tool", toolCallId: "c2", output: "no name", isError: true },
  { role: "user", content: "Go on." },
];
