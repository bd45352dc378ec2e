// How a run of this family is named: by the key with which its start may be repeated, or at random.
import type { RunCreate } from "../../../../schemas/dialects/deerflow.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { sha256Hex } from "../../digest.ts";
import { IDEMPOTENCY_KEY, keyedName } from "../../idempotency-key.ts";
import type { DeerContext } from "./context.ts";
import { notMatching } from "./faults.ts";
import { deerFound, deerRefused, faulty, type DeerResult } from "./problem.ts";

export interface RunName {
  runId: string;
  /** Hex SHA-256: the same for a repeat, and no other start. */
  requestHash: string;
  idempotencyKey: string | undefined;
}

/** `threadId`: of the path. */
export async function nameRun(
  { request, tenant, threadId }: Pick<DeerContext, "request" | "tenant" | "threadId">,
  body: RunCreate,
): Promise<DeerResult<RunName>> {
  const key = request.headers.get("idempotency-key") ?? undefined;
  if (key === undefined) {
    const runId = crypto.randomUUID();
    return deerFound({ runId, requestHash: await sha256Hex(runId), idempotencyKey: undefined });
  }
  if (!IDEMPOTENCY_KEY.test(key)) {
    return deerRefused(faulty([notMatching(["header", "idempotency-key"], key, IDEMPOTENCY_KEY)]));
  }
  const requestHash = await sha256Hex(canonicalJson({ threadId, body }));
  return deerFound({ runId: await keyedName(tenant, key), requestHash, idempotencyKey: key });
}

/** A thread for the run alone; a repeat finds it again. */
export const ownThread = ({ runId, idempotencyKey }: RunName): string =>
  idempotencyKey === undefined ? crypto.randomUUID() : runId.replace(/^run_/, "thread_");
