// The end of a run as one JSON value. While the run goes on, white space keeps the connection in use: nobody on the way takes it for dead.
import type { JsonRecord } from "../../../../schemas/json.ts";
import { json, threadOf, type DeerContext } from "./context.ts";
import { attachTo, runHeaders } from "./reading.ts";
import { valuesOf } from "./thread-form.ts";

const encoder = new TextEncoder();
/** JSON readers pass over it. */
const SPACE = encoder.encode("\n");
/** Milliseconds between two of them, at least. */
const SPACE_MS = 1000;

/** What is compressed on its way would be held back. */
const atOnce = { "cache-control": "no-store, no-transform", "content-encoding": "identity" };

/** Waits as a reader of the run: one that leaves is one reader less. */
export async function endOfRun(context: DeerContext): Promise<Response> {
  const { config, threadId, runId } = context;
  const headers = runHeaders(threadId, runId);
  const run = await threadOf(context).run(runId);
  const answer = await attachTo(context, run ?? { runId }, {
    dialect: "inderun",
    framing: "sse",
    from: "now",
    waitMs: config.limits.attachWaitMs,
  });
  const reader = answer instanceof Response ? answer.body?.getReader() : undefined;
  // A run that is carried out elsewhere has no reader, and ends when its thread says so.
  const hasEnded = (waitMs: number): Promise<boolean> => threadOf(context).awaitEnd(runId, waitMs);
  if (reader === undefined && (await hasEnded(0))) return json(await finalValues(context), headers);
  let told = Date.now();
  const goesOn = async (): Promise<boolean> => {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      if (Date.now() - told < SPACE_MS) continue;
      told = Date.now();
      return true;
    }
    return !(await hasEnded(SPACE_MS));
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (await goesOn()) return controller.enqueue(SPACE);
      controller.enqueue(encoder.encode(JSON.stringify(await finalValues(context))));
      controller.close();
    },
    cancel: (reason) => reader?.cancel(reason),
  });
  return new Response(body, { headers: { "content-type": "application/json", ...atOnce, ...headers } });
}

/** The state that the run has left, what waits in it, and how it failed; without a state its bare status. */
async function finalValues(context: DeerContext): Promise<JsonRecord> {
  const { runId } = context;
  const thread = threadOf(context);
  const [run, answer] = await Promise.all([thread.run(runId), thread.stateAfter(runId)]);
  const status = run?.status ?? "error";
  const error = run?.error ?? null;
  const state = answer.found ? answer.state : undefined;
  if (state === undefined) return { status, error };
  const failed = status === "error" || status === "timeout";
  return {
    ...valuesOf(state),
    ...(state.interrupts.length > 0 && { __interrupt__: state.interrupts }),
    ...(failed && { __error__: { error: status, message: error ?? "" } }),
  };
}
