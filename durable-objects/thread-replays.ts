// Finds the turn that is to be done again in a thread's state, and tells what a client is to start for it. Changes nothing.
import type { EditAnswer, EditRequest, RegenerateAnswer, Replay, ReplayRefusal } from "../schemas/thread-replay.ts";
import { checkpointId, ROOT_CHECKPOINT } from "../src/thread/checkpoint-id.ts";
import {
  isUsers,
  replacement,
  turnOfAnswer,
  turnOfEdit,
  turnOfRecorded,
  type Found,
  type Said,
  type Turn,
} from "../src/thread/replay.ts";
import { isRecord } from "../src/wire/json.ts";
import type { ThreadRecords } from "./thread-records.ts";
import type { ThreadRunStore } from "./thread-run-store.ts";
import type { Checkpoint, StatePlace, ThreadStates } from "./thread-state.ts";
import type { ThreadStore } from "./thread-store.ts";

/** Of a run's messages the newest, among which one that is in no state is looked for. */
const LOOKED_AT = 200;

export interface ThreadReplays {
  regenerate(messageId: string): RegenerateAnswer;
  /** `newId`: of the message that takes the place of the user's. */
  edit(request: EditRequest, newId: string): EditAnswer;
}

interface Parts {
  store: ThreadStore;
  runs: ThreadRunStore;
  state: ThreadStates;
  records: ThreadRecords;
}

interface Latest {
  head: Checkpoint;
  places: StatePlace[];
  /** From the latest message that a user wrote on; where none did, all. */
  said: Said[];
  /** The checkpoint with which the first of them came. */
  came: number | undefined;
}

const refuse = (refused: ReplayRefusal): { prepared: false; refused: ReplayRefusal } => ({ prepared: false, refused });

export function threadReplays({ store, runs, state, records }: Parts): ThreadReplays {
  const latest = (): Latest | ReplayRefusal => {
    if (store.thread() === undefined) return "unknown_thread";
    const head = state.head();
    if (head === undefined) return "no_checkpoint";
    const places = state.places(head.id);
    const said: Said[] = [];
    for (const place of places.toReversed()) {
      const message = state.read(place);
      said.unshift({ message, runId: place.runId });
      if (isUsers(message)) return { head, places, said, came: place.added };
    }
    return { head, places, said, came: undefined };
  };

  const isRecorded = (messageId: string, runId: string | undefined): boolean => {
    if (runId === undefined) return false;
    const { records: found } = records.read({ runId, messages: true }, { limit: LOOKED_AT, from: "end" });
    return found.some(
      ({ eventType, content }) => eventType === "llm.ai.response" && isRecord(content) && content["id"] === messageId,
    );
  };

  const answerTo = ({ places, said }: Latest, messageId: string): Found => {
    const elsewhere = places.find(({ id }) => id === messageId)?.type;
    const found = turnOfAnswer(said, messageId, elsewhere);
    return elsewhere === undefined && isRecorded(messageId, said[0]?.runId) ? turnOfRecorded(said) : found;
  };

  const replayOf = ({ head, came }: Latest, { human, targetRunId }: Turn, messageId: string): Replay => {
    const parent = came === undefined ? undefined : state.checkpoint(came)?.parent;
    const before = parent === undefined ? ROOT_CHECKPOINT : checkpointId(parent);
    const title = head.values["title"];
    return {
      human,
      ...(typeof title === "string" && title !== "" && { title }),
      checkpointId: before,
      metadata: {
        regenerate_from_message_id: messageId,
        regenerate_from_run_id: targetRunId,
        regenerate_checkpoint_id: before,
      },
      targetRunId,
    };
  };

  return {
    regenerate(messageId) {
      const now = latest();
      if (typeof now === "string") return refuse(now);
      const found = answerTo(now, messageId);
      return found.found ? { prepared: true, ...replayOf(now, found.turn, messageId) } : refuse(found.refused);
    },
    edit(request, newId) {
      const now = latest();
      if (typeof now === "string") return refuse(now);
      const { humanMessageId, replacementText } = request;
      const isThere = now.places.some(({ id }) => id === humanMessageId);
      const found = turnOfEdit(now.said, request, isThere, (runId) => {
        const status = runs.run(runId)?.status;
        return status === "lost" ? undefined : status;
      });
      if (!found.found) return refuse(found.refused);
      const answered = now.said.at(-1)?.message.id ?? humanMessageId;
      const replay = replayOf(now, found.turn, answered);
      const group = runs.run(found.turn.targetRunId)?.metadata["edit_version_group_id"];
      return {
        prepared: true,
        ...replay,
        human: replacement(replay.human, newId, replacementText),
        metadata: {
          ...replay.metadata,
          replay_kind: "edit",
          edit_from_message_id: humanMessageId,
          edit_message_id: newId,
          edit_version_group_id: typeof group === "string" ? group : humanMessageId,
        },
        sourceMessageIds: now.said.map(({ message }) => message.id),
      };
    },
  };
}
