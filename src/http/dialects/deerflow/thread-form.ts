// A thread and its states as this family's clients read them. Pure.
import type { DeerState, DeerThread } from "../../../../schemas/dialects/deerflow-answers.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { ThreadState, ThreadView } from "../../../../schemas/thread.ts";
import { isoTime } from "./time.ts";

export const threadForm = (view: ThreadView, values: JsonRecord): DeerThread => ({
  thread_id: view.threadId,
  status: view.status,
  created_at: isoTime(view.createdAt),
  updated_at: isoTime(view.updatedAt),
  metadata: view.metadata,
  values,
  interrupts: view.interrupts,
});

/** What a list shows of a thread's values. */
export const titleOf = ({ title }: ThreadView): JsonRecord => (title === undefined ? {} : { title });

/** The channels of a state. */
export const valuesOf = (state: ThreadState): JsonRecord => ({
  ...state.values,
  messages: state.messages.map(({ message }) => message),
});

/** The node that carries calls out: what an interrupt waits in. */
const TOOLS = "tools";

export function stateForm(threadId: string, state: ThreadState, values: JsonRecord): DeerState {
  const { checkpointId, parentCheckpointId, interrupts } = state;
  const at = isoTime(state.createdAt);
  const place = (id: string) => ({
    thread_id: threadId,
    checkpoint_ns: "",
    checkpoint_id: id,
    checkpoint_map: null,
  });
  const waits = interrupts.length > 0;
  return {
    values,
    next: waits ? [TOOLS] : [],
    metadata: state.metadata,
    checkpoint: { id: checkpointId, ts: at, ...place(checkpointId) },
    checkpoint_id: checkpointId,
    parent_checkpoint: parentCheckpointId === null ? null : place(parentCheckpointId),
    parent_checkpoint_id: parentCheckpointId,
    created_at: at,
    tasks: waits ? [{ id: `${checkpointId}-${TOOLS}`, name: TOOLS, interrupts }] : [],
  };
}

/** Of a thread that nothing was ever said in. */
export const noState: DeerState = {
  values: {},
  next: [],
  metadata: {},
  checkpoint: null,
  checkpoint_id: null,
  parent_checkpoint: null,
  parent_checkpoint_id: null,
  created_at: null,
  tasks: [],
};
