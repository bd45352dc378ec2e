// How a run that is carried out elsewhere ends, as its records tell. Pure.
import type { RecordDraft, ThreadRunEnd } from "../../schemas/thread.ts";
import { asRecord, asText } from "../wire/json.ts";

type Told = Pick<RecordDraft, "eventType" | "content">;

const STATUSES = ["success", "error", "timeout", "interrupted"] as const;
const OUTCOMES = { success: "completed", error: "error", timeout: "error", interrupted: "cancelled" } as const;

export const TERMINAL = "run.terminal";

/** Of a run whose producer was not heard of again. */
export const LOST_PRODUCER: ThreadRunEnd = {
  status: "error",
  stopReason: "orphan_recovered",
  error: "The producer of the run was lost.",
  interrupts: [],
};

/** The end that the latest of these records tells; `undefined` when none does. */
export function endToldBy(records: readonly Told[]): ThreadRunEnd | undefined {
  return records.map(endOf).findLast((end) => end !== undefined);
}

function endOf({ eventType, content }: Told): ThreadRunEnd | undefined {
  const interrupts: [] = [];
  switch (eventType) {
    case "run.end":
      return { status: "success", stopReason: null, error: null, interrupts };
    case "run.error":
      return { status: "error", stopReason: null, error: asText(content) ?? null, interrupts };
    case TERMINAL: {
      const told = asRecord(content) ?? {};
      const status = STATUSES.find((one) => one === told["status"]) ?? "error";
      return {
        status,
        stopReason: asText(told["stop_reason"]) ?? null,
        error: asText(told["error"]) ?? null,
        interrupts,
      };
    }
  }
  return undefined;
}

/** The record that no run ends without. */
export function terminalRecord(
  { status, stopReason, error }: Omit<ThreadRunEnd, "interrupts">,
  at: number,
): Omit<RecordDraft, "source"> {
  return {
    eventType: TERMINAL,
    category: "outputs",
    content: { status, stop_reason: stopReason, error, outcome: OUTCOMES[status] },
    metadata: {},
    at,
  };
}
