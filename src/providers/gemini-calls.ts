// Gemini's function calls, whole or streamed, as pieces for the collector: numbered over the whole answer. Never reads anything else of an answer.
import type { ProviderOutput } from "../../schemas/provider.ts";
import { asArray, asRecord, asText, type JsonRecord } from "../wire/json.ts";
import { heldText } from "./echo.ts";
import { PARTIAL_ARGS_START, partialArgs, type PartialArgs } from "./gemini-partial-args.ts";
import { inputPiece, toolCallCollector, type ToolCallCollector } from "./tool-calls.ts";

export interface GeminiCalls {
  /** Reads the `functionCall` of one part, and the signature of the thoughts behind it. */
  add(call: JsonRecord, signature: unknown): ProviderOutput[];
  /** The answer ended by itself: a streamed call whose terminator is missing is over too. */
  close(): ProviderOutput[];
  /** As the collector says it, but that a whole call without any input is one also where the answer was cut. */
  finish: ToolCallCollector["finish"];
  /** What makes it pointless to read on. */
  readonly fault: string | undefined;
}

interface OpenCall {
  index: number;
  id: string | undefined;
  name: string | undefined;
  input: PartialArgs;
}

export function geminiCalls(): GeminiCalls {
  const calls = toolCallCollector();
  let open: OpenCall | undefined;
  let disordered = false;

  const close = (): ProviderOutput[] => {
    if (open === undefined) return [];
    const { index, input } = open;
    open = undefined;
    return calls.add({ index, input: input.end() });
  };

  const begin = (id: string | undefined, name: string | undefined): ProviderOutput[] => {
    open = { index: calls.size, id, name, input: partialArgs() };
    return calls.add({ index: open.index, id, name, input: PARTIAL_ARGS_START });
  };

  const goOn = ({ index }: OpenCall, text: string | undefined): ProviderOutput[] => {
    if (text === undefined) disordered = true;
    return calls.add({ index, input: text });
  };

  return {
    add(call, signature) {
      const thoughtSignature = asText(signature);
      const echo = thoughtSignature === undefined ? undefined : { thoughtSignature: heldText("", thoughtSignature) };
      const id = asText(call["id"]);
      const name = asText(call["name"]);
      const args = call["args"] ?? undefined;
      const partials = asArray(call["partialArgs"]);
      const continued = call["willContinue"] === true;
      const isNamed = name !== undefined && (partials.length === 0 || name !== open?.name);
      const isOther = id !== undefined && open?.id !== undefined && id !== open.id;
      const events: ProviderOutput[] = [];
      if (open === undefined || isNamed || isOther) {
        events.push(...close());
        if (partials.length === 0 && (!continued || name === undefined)) {
          // Whole: a call of its own, whatever it is called.
          return [...events, ...calls.add({ index: calls.size, id, name, input: inputPiece(args), echo })];
        }
        events.push(...begin(id, name));
      }
      if (open === undefined) return events;
      if (echo !== undefined) calls.add({ index: open.index, input: "", echo });
      // Some of the input may come whole beside the streamed rest.
      for (const [key, value] of Object.entries(asRecord(args) ?? {})) {
        events.push(...goOn(open, open.input.member(key, value)));
      }
      for (const partial of partials) events.push(...goOn(open, open.input.add(asRecord(partial) ?? {})));
      return continued ? events : [...events, ...close()];
    },
    close,
    finish: () => calls.finish(false),
    get fault() {
      if (calls.excessive) return "A tool call is larger than the limit.";
      return disordered ? "A tool call's input came in an order that makes no JSON object." : undefined;
    },
  };
}
