// Tool calls that are blocks of an answer: an event with an index opens one, later ones with that index feed it. Blocks may
// interleave, and an index may be used again. Reads no wire.
import type { ProviderOutput } from "../../schemas/provider.ts";
import type { ToolCallCollector, ToolCallPiece } from "./tool-calls.ts";

export interface ToolBlocks {
  /** A block is a call even if it names nothing: then it is a broken one. */
  open(index: number, call: Omit<ToolCallPiece, "index">): ProviderOutput[];
  /** Input for the call that stands at the index; nothing when none does. */
  feed(index: number, input: ToolCallPiece["input"]): ProviderOutput[];
  /** A block of another kind stands at the index from here on. */
  close(index: number): void;
}

export function toolBlocks(calls: ToolCallCollector): ToolBlocks {
  /** The provider's index of a block to its place among the calls. */
  const places = new Map<number, number>();
  let began = 0;
  return {
    open(index, call) {
      const place = began++;
      places.set(index, place);
      return calls.add({ ...call, index: place, id: call.id ?? `call_${place}` });
    },
    feed(index, input) {
      const place = places.get(index);
      return place === undefined || input === undefined ? [] : calls.add({ index: place, input });
    },
    close(index) {
      places.delete(index);
    },
  };
}
