// How much of a provider's output a run may still log: `maxOutputBytes` over text, reasoning and tool input. Decides nothing about the run's end.
import type { Draft } from "../../schemas/event.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProviderOutput } from "../../schemas/provider.ts";
import { whoseCall } from "./calls.ts";
import { depthOf, MAX_JSON_DEPTH } from "./canonical.ts";
import { hasSecretKey } from "./secret-keys.ts";
import type { RunState } from "./state.ts";
import { utf8Length, utf8Prefix } from "./utf8.ts";

export interface FittedOutput {
  /** `undefined` when nothing of the output fits. */
  draft: Draft | undefined;
  /** False when something was cut off: the limit is reached. */
  whole: boolean;
}

const nothing: FittedOutput = { draft: undefined, whole: false };

/** The event for an output. Text is cut on a whole character; a piece of a tool call is logged whole or not at all. */
export function fitOutput(state: RunState, event: ProviderOutput): FittedOutput {
  const room = state.charter.maxOutputBytes - state.outputBytes;
  switch (event.type) {
    case "text":
    case "reasoning": {
      const text = prefixWithin(event.text, room);
      const type = event.type === "text" ? "content_delta" : "reasoning_delta";
      const whole = text === event.text;
      return { draft: whole || text !== "" ? { type, payload: { text } } : undefined, whole };
    }
    case "snapshot": {
      const text = prefixWithin(event.text, room + utf8Length(state.text));
      const whole = text === event.text;
      const changes = text !== "" || state.text !== "";
      return { draft: whole || changes ? { type: "content_snapshot", payload: { text } } : undefined, whole };
    }
    case "tool_call_delta": {
      const { toolCallId, toolName, inputText } = event;
      if (utf8Length(inputText) > room) return nothing;
      const payload = { toolCallId, ...(toolName !== undefined && { toolName }), inputText };
      return { draft: { type: "tool_call_delta", payload }, whole: true };
    }
    case "tool_call": {
      const { toolCallId, toolName, input, inputJson: exact, echo } = event;
      const inputJson = exact ?? JSON.stringify(input);
      const shown = state.openInputs.find((open) => open.toolCallId === toolCallId)?.bytes ?? 0;
      if (utf8Length(inputJson) - shown > room) return nothing;
      const material = exact !== undefined || hasSecretKey(input) ? { inputJson } : { input };
      const payload = { toolCallId, toolName, ...material, ...whoseCall(state.charter, toolName), ...echoed(echo) };
      return { draft: { type: "tool_call", payload }, whole: true };
    }
  }
}

/** The model's user is not shown it, so it counts for no limit: the adapter bounds it. One that no request could hold is left out. */
function echoed(echo: JsonRecord | undefined): { echo?: JsonRecord; echoJson?: string } {
  if (echo === undefined || depthOf(echo, MAX_ECHO_DEPTH) > MAX_ECHO_DEPTH) return {};
  return hasSecretKey(echo) ? { echoJson: JSON.stringify(echo) } : { echo };
}

/** It stands in `messages[].toolCalls[].echo` of a request. */
const MAX_ECHO_DEPTH = MAX_JSON_DEPTH - 5;

function prefixWithin(text: string, limit: number): string {
  // No UTF-16 unit takes more than three bytes: most text needs no count.
  return text.length * 3 <= limit ? text : utf8Prefix(text, limit);
}
