// A run as a client asks for it: which options are served, what it says, and in which of the three ways it goes on in its thread. Begins nothing.
import * as v from "valibot";
import type { Config } from "../../../../schemas/config.ts";
import {
  resumeSchema,
  runCreateSchema,
  streamModes,
  THREAD_ID,
  threadChannels,
  type RunCreate,
} from "../../../../schemas/dialects/deerflow.ts";
import type { JsonRecord } from "../../../../schemas/json.ts";
import type { LangMessage, MultitaskStrategy, StreamMode } from "../../../../schemas/thread.ts";
import { isSecretKey } from "../../../run/secret-keys.ts";
import { asRecord, asText, isRecord } from "../../../wire/json.ts";
import { readBody } from "./body.ts";
import type { DeerContext } from "./context.ts";
import { faultsOf, notMatching, valueError } from "./faults.ts";
import { readMessages } from "./messages.ts";
import { badRequest, deerFound, deerRefused, faulty, unprocessable, type DeerResult, type Fault } from "./problem.ts";
import { nameRun, type RunName } from "./run-name.ts";
import { checkpointIdOf, isOfThread, otherThread } from "./states.ts";

/** What was decided about calls that wait for approval, and what the client's own calls gave. */
export type Resume = v.InferOutput<typeof resumeSchema>;

export interface WantedRun {
  name: RunName;
  /** Messages to be applied to the thread's state. */
  input: LangMessage[];
  values: JsonRecord;
  /** Set when the run goes on from the calls that another one left open. */
  resume: Resume | undefined;
  assistantId: string | null;
  model: { route: string } | { targets: string[] };
  maxSteps: number;
  modes: StreamMode[];
  strategy: MultitaskStrategy;
  ifMissing: "create" | "refuse";
  checkpointId: string | undefined;
  onDisconnect: "cancel" | "continue" | undefined;
  metadata: JsonRecord;
  kwargs: JsonRecord;
  /** The thread that the configuration names, for a run whose path names none. */
  threadId: string | undefined;
}

const strategies = ["reject", "rollback", "interrupt"] as const;
const DEFAULT_RECURSION_LIMIT = 100;
const MAX_RECURSION_LIMIT = 1000;
const DEFAULT_ROUTE = "default";

/** In the thread of the path, or in none yet. */
export async function readRunCreate(context: DeerContext): Promise<DeerResult<WantedRun>> {
  const { request, config } = context;
  const threadId = context.threadId === "" ? undefined : context.threadId;
  const read = await readBody(request, runCreateSchema, config.limits.maxBodyBytes);
  if (!read.ok) return read;
  const body = read.value;
  const { config: options = {}, context: asked, assistant_id: assistantId, command } = body;
  const configurable = asRecord(options["configurable"]) ?? {};
  const resumed = readResume(command?.["resume"] ?? undefined);
  const faults = [...optionFaults(body), ...modeFaults(body), ...threadFaults(configurable), ...resumed.faults];
  if (faults.length > 0) return deerRefused(faulty(faults));
  const checkpointId = readCheckpoint(body, configurable, threadId);
  if (!checkpointId.ok) return checkpointId;
  const model = chosenModel(asText(asked?.["model_name"]) ?? asText(configurable["model_name"]), assistantId, config);
  if (!model.ok) return model;
  const input = readInput(resumed.resume === undefined ? body.input : undefined);
  if (!input.ok) return input;
  const name = await nameRun(context, body);
  if (!name.ok) return name;
  return deerFound({
    ...input.value,
    name: name.value,
    resume: typeof resumed.resume === "string" ? undefined : resumed.resume,
    ...(typeof resumed.resume === "string" && { input: [userMessage(resumed.resume)] }),
    assistantId: assistantId ?? null,
    model: model.value,
    maxSteps: recursionLimit(options["recursion_limit"]),
    modes: modesOf(body),
    strategy: strategies.find((one) => one === body.multitask_strategy) ?? "reject",
    ifMissing: body.if_not_exists === "create" ? "create" : "refuse",
    checkpointId: checkpointId.value,
    onDisconnect: body.on_disconnect,
    metadata: body.metadata ?? {},
    kwargs: asRecord(withoutSecrets({ input: body.input ?? null, config: options })) ?? {},
    threadId: asText(configurable["thread_id"]),
  });
}

/** Options of the LangGraph API that this family knows and does not have; each alone may be set to nothing. */
function optionFaults(body: RunCreate): Fault[] {
  const isUnsupported: Record<string, boolean> = {
    webhook: isSet(body.webhook),
    stream_resumable: isSet(body.stream_resumable) && body.stream_resumable !== false,
    on_completion: isSet(body.on_completion),
    after_seconds: isSet(body.after_seconds),
    feedback_keys: isSet(body.feedback_keys),
    multitask_strategy:
      isSet(body.multitask_strategy) && !strategies.some((strategy) => strategy === body.multitask_strategy),
    if_not_exists: isSet(body.if_not_exists) && body.if_not_exists !== "create",
  };
  return Object.entries(isUnsupported)
    .filter(([, unsupported]) => unsupported)
    .map(([option]) => ({
      type: "unsupported_run_option",
      loc: ["body", option],
      msg: `Run option '${option}' is not supported by DeerFlow`,
      input: Object.entries(body).find(([name]) => name === option)?.[1],
      ctx: { option },
    }));
}

const isSet = (value: unknown): boolean => value !== null && value !== undefined;

const askedModes = ({ stream_mode: mode }: RunCreate): string[] => (typeof mode === "string" ? [mode] : (mode ?? []));

function modeFaults(body: RunCreate): Fault[] {
  const unsupported = askedModes(body).filter((mode) => !streamModes.some((one) => one === mode));
  if (unsupported.length === 0) return [];
  const modes = [...new Set(unsupported)].join(", ");
  return [
    {
      type: "unsupported_stream_mode",
      loc: ["body", "stream_mode"],
      msg: `Unsupported stream mode(s): ${modes}`,
      input: body.stream_mode,
      ctx: { modes },
    },
  ];
}

function modesOf(body: RunCreate): StreamMode[] {
  const asked = askedModes(body);
  const modes = streamModes.filter((mode) => asked.includes(mode));
  return modes.length === 0 ? ["values"] : modes;
}

function threadFaults({ thread_id: threadId }: JsonRecord): Fault[] {
  if (!isSet(threadId) || (typeof threadId === "string" && THREAD_ID.test(threadId))) return [];
  return [notMatching(["body", "config", "configurable", "thread_id"], threadId, THREAD_ID)];
}

function readResume(resume: unknown): { resume?: Resume | string; faults: Fault[] } {
  if (resume === undefined) return { faults: [] };
  if (typeof resume === "string" && resume !== "") return { resume, faults: [] };
  const loc = ["body", "command", "resume"];
  const held = v.safeParse(resumeSchema, resume);
  if (!held.success) return { faults: faultsOf(held.issues, resume, loc) };
  const { decisions = [], results = [] } = held.output;
  return decisions.length + results.length > 0
    ? { resume: held.output, faults: [] }
    : { faults: [valueError(loc, resume, "needs decisions or results")] };
}

function readCheckpoint(
  { checkpoint, checkpoint_id: named }: RunCreate,
  configurable: JsonRecord,
  threadId: string | undefined,
): DeerResult<string | undefined> {
  const fallback = named ?? asText(configurable["checkpoint_id"]);
  if (!isSet(checkpoint)) return deerFound(fallback);
  if (!isRecord(checkpoint)) return deerRefused(badRequest("checkpoint must be an object"));
  if (!isOfThread(checkpoint, threadId ?? configurable["thread_id"])) return deerRefused(otherThread);
  return deerFound(checkpointIdOf(checkpoint) ?? fallback);
}

/** A model by its route or target; without one the assistant's route, and for a word that is none the default. */
function chosenModel(
  name: string | undefined,
  assistantId: string | undefined,
  { routes, targets }: Config,
): DeerResult<WantedRun["model"]> {
  if (name !== undefined) {
    if (Object.hasOwn(routes, name)) return deerFound({ route: name });
    return targets.some(({ id }) => id === name)
      ? deerFound({ targets: [name] })
      : deerRefused(badRequest(`Model '${name}' is not in the configured model allowlist`));
  }
  const route = assistantId !== undefined && Object.hasOwn(routes, assistantId) ? assistantId : DEFAULT_ROUTE;
  return deerFound({ route });
}

function readInput(input: JsonRecord | undefined): DeerResult<Pick<WantedRun, "input" | "values">> {
  const { messages = [], ...values } = input ?? {};
  const unknown = Object.keys(values).filter((key) => !threadChannels.includes(key));
  if (unknown.length > 0) {
    return deerRefused(unprocessable(`Unknown thread-state field(s): ${unknown.join(", ")}`));
  }
  const read = readMessages(messages, "input.messages");
  return read.ok ? deerFound({ input: read.value, values }) : read;
}

const userMessage = (content: string): LangMessage => ({
  content,
  additional_kwargs: {},
  response_metadata: {},
  type: "human",
  name: null,
  id: crypto.randomUUID(),
});

function recursionLimit(limit: unknown): number {
  if (typeof limit !== "number") return DEFAULT_RECURSION_LIMIT;
  return Math.min(Math.max(Math.trunc(limit), 1), MAX_RECURSION_LIMIT);
}

/** What looks like a key or a password is not kept, and so not told back. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isRecord(value)) return value;
  const open = Object.entries(value).filter(([key]) => !isSecretKey(key));
  return Object.fromEntries(open.map(([key, inner]) => [key, withoutSecrets(inner)]));
}
