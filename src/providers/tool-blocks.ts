// Tool calls that are blocks of an answer: an event with an index opens one, others with that index feed it. Blocks may
// interleave, an index may be used again, and a block may be opened twice or late. Reads no wire.
import type { ProviderOutput } from "../../schemas/provider.ts";
import type { ToolCallCollector, ToolCallPiece } from "./tool-calls.ts";

export interface ToolBlocks {
  /** A block is a call even if it names nothing: then it is a broken one. */
  open(index: number, call: Omit<ToolCallPiece, "index">): ProviderOutput[];
  /** Input for the call that stands at the index, or that is still to be opened there. */
  feed(index: number, input: ToolCallPiece["input"]): ProviderOutput[];
  /** A block of another kind stands at the index from here on: what it is fed is no call's. */
  close(index: number): void;
}

interface Block {
  /** Among the calls. */
  place: number;
  id: string | undefined;
  name: string | undefined;
  opened: boolean;
}

export function toolBlocks(calls: ToolCallCollector): ToolBlocks {
  const blocks = new Map<number, Block | "other">();
  const byId = new Map<string, Block>();
  let began = 0;

  const begin = (): Block => ({ place: began++, id: undefined, name: undefined, opened: false });

  /** The block that an opening repeats. One whose input is whole is over: the same id then names another call. */
  const repeated = ({ id, name, input }: Omit<ToolCallPiece, "index">): Block | undefined => {
    const same = id === undefined ? undefined : byId.get(id);
    if (same === undefined || (name !== undefined && name !== same.name)) return undefined;
    return calls.isWhole(same.place) && input !== calls.inputText(same.place) ? undefined : same;
  };

  /** The block at the index that has been fed, but not opened. */
  const early = (index: number): Block | undefined => {
    const standing = blocks.get(index);
    return standing === "other" || standing?.opened !== false ? undefined : standing;
  };

  return {
    open(index, call) {
      const again = repeated(call);
      const block = again ?? early(index) ?? begin();
      block.opened = true;
      block.id ??= call.id;
      block.name ??= call.name;
      if (call.id !== undefined) byId.set(call.id, block);
      blocks.set(index, block);
      if (again !== undefined && calls.isWhole(block.place)) return [];
      return calls.add({ ...call, index: block.place, id: block.id ?? `call_${block.place}` });
    },
    feed(index, input) {
      const standing = blocks.get(index);
      if (standing === "other" || input === undefined) return [];
      const block = standing ?? begin();
      blocks.set(index, block);
      return calls.add({ index: block.place, input });
    },
    close(index) {
      blocks.set(index, "other");
    },
  };
}
