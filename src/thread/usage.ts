// What the records of a run add up to: tokens by caller and model, answers, messages. Pure.
import type { JsonRecord } from "../../schemas/json.ts";
import type { RecordDraft } from "../../schemas/thread.ts";
import type { RunTotals, ThreadContextUsage, ThreadTokenUsage } from "../../schemas/thread-rows.ts";
import { asCount, asName, asRecord, asText } from "../wire/json.ts";

interface Tokens {
  input: number;
  output: number;
  total: number;
}

type Caller = "lead_agent" | "subagent" | "middleware";

/** A part of the tokens of a run, and which models they are of. */
interface Share {
  tokens: Tokens;
  models: Record<string, number>;
}

/** Grows with each record of a run, never with their number. */
export interface RunTally {
  messages: number;
  calls: number;
  callers: Record<Caller, Share>;
  /** What ended tasks tell of themselves: it counts where no answer of a subagent is recorded. */
  tasks: Share;
  /** Message ids of the latest counted answers: one that is recorded again is not paid again. */
  counted: string[];
  /** How full the context of the leading agent's model was at its latest answer that tells it. */
  context?: ThreadContextUsage;
}

/** Answers whose repeats are known. */
const MAX_COUNTED = 32;
/** Distinct models of a run that are told apart; what further ones use counts as of no known model. */
const MAX_MODELS = 100;
const UNKNOWN_MODEL = "unknown";

const noShare = (): Share => ({ tokens: { input: 0, output: 0, total: 0 }, models: {} });

export const emptyTally = (): RunTally => ({
  messages: 0,
  calls: 0,
  callers: { lead_agent: noShare(), subagent: noShare(), middleware: noShare() },
  tasks: noShare(),
  counted: [],
});

/** The tally with further records of its run; undefined when they change nothing. */
export function tallied(tally: RunTally, drafts: readonly RecordDraft[]): RunTally | undefined {
  return drafts.reduce<RunTally | undefined>((sum, draft) => withRecord(sum ?? tally, draft) ?? sum, undefined);
}

function withRecord(tally: RunTally, { eventType, category, content, metadata }: RecordDraft): RunTally | undefined {
  const body = asRecord(content) ?? {};
  if (eventType === "subagent.end") {
    const usage = asRecord(body["usage"]);
    return usage === undefined ? undefined : { ...tally, tasks: withUsage(tally.tasks, usage, body["model_name"]) };
  }
  if (category !== "message") return undefined;
  const counted = { ...tally, messages: tally.messages + 1 };
  if (eventType !== "llm.ai.response" && eventType !== "ai_message") return counted;
  const id = asText(body["id"]);
  if (id !== undefined && tally.counted.includes(id)) return counted;
  const caller = callerOf(metadata["caller"]);
  const model = asRecord(body["response_metadata"])?.["model_name"];
  const context = caller === "lead_agent" ? contextOf(metadata["context_usage"]) : undefined;
  return {
    ...counted,
    ...(context !== undefined && { context }),
    calls: tally.calls + 1,
    callers: { ...tally.callers, [caller]: withUsage(tally.callers[caller], asRecord(metadata["usage"]) ?? {}, model) },
    counted: id === undefined ? tally.counted : [...tally.counted, id].slice(-MAX_COUNTED),
  };
}

function contextOf(value: unknown): ThreadContextUsage | undefined {
  const told = asRecord(value) ?? {};
  const [used, most] = [asCount(told["token_count"]), asCount(told["max_context_tokens"])];
  if (used === undefined || most === undefined || most === 0) return undefined;
  const { percentage } = told;
  return {
    token_count: used,
    max_context_tokens: most,
    percentage: typeof percentage === "number" ? Math.round(percentage * 10) / 10 : null,
  };
}

function callerOf(caller: unknown): Caller {
  const text = asText(caller) ?? "";
  if (text.startsWith("subagent:")) return "subagent";
  return text.startsWith("middleware:") ? "middleware" : "lead_agent";
}

function withUsage({ tokens, models }: Share, usage: JsonRecord, model: unknown): Share {
  const input = asCount(usage["input_tokens"]) ?? 0;
  const output = asCount(usage["output_tokens"]) ?? 0;
  const total = asCount(usage["total_tokens"]) ?? input + output;
  const asked = asName(model) ?? UNKNOWN_MODEL;
  const known = Object.hasOwn(models, asked) || Object.keys(models).length < MAX_MODELS;
  return {
    tokens: { input: tokens.input + input, output: tokens.output + output, total: tokens.total + total },
    models: plus(models, known ? asked : UNKNOWN_MODEL, total),
  };
}

/** As entries: a model may be called like a member that every object has. */
function plus(sums: Record<string, number>, name: string, more: number): Record<string, number> {
  const before = Object.hasOwn(sums, name) ? (sums[name] ?? 0) : 0;
  return Object.fromEntries([...Object.entries(sums).filter(([key]) => key !== name), [name, before + more]]);
}

/** All tokens of a run, each counted once. */
function sharesOf({ callers, tasks }: RunTally): Record<Caller, Share> {
  return { ...callers, subagent: callers.subagent.tokens.total > 0 ? callers.subagent : tasks };
}

export function runTotals(tally: RunTally): RunTotals {
  const shares = sharesOf(tally);
  const all = Object.values(shares).map(({ tokens }) => tokens);
  return {
    total_input_tokens: sumOf(all.map(({ input }) => input)),
    total_output_tokens: sumOf(all.map(({ output }) => output)),
    total_tokens: sumOf(all.map(({ total }) => total)),
    llm_call_count: tally.calls,
    lead_agent_tokens: shares.lead_agent.tokens.total,
    subagent_tokens: shares.subagent.tokens.total,
    middleware_tokens: shares.middleware.tokens.total,
    message_count: tally.messages,
  };
}

/** The sums over the runs that count, the latest last; a run counts once for each of its models. */
export function tokenUsage(tallies: readonly RunTally[]): ThreadTokenUsage {
  const totals = tallies.map(runTotals);
  const sum = (key: keyof RunTotals): number => sumOf(totals.map((one) => one[key]));
  const models = new Map<string, { tokens: number; runs: number }>();
  for (const tally of tallies) {
    for (const [model, tokens] of Object.entries(modelsOf(tally))) {
      const before = models.get(model) ?? { tokens: 0, runs: 0 };
      models.set(model, { tokens: before.tokens + tokens, runs: before.runs + 1 });
    }
  }
  return {
    total_tokens: sum("total_tokens"),
    total_input_tokens: sum("total_input_tokens"),
    total_output_tokens: sum("total_output_tokens"),
    total_runs: tallies.length,
    by_model: Object.fromEntries(models),
    by_caller: {
      lead_agent: sum("lead_agent_tokens"),
      subagent: sum("subagent_tokens"),
      middleware: sum("middleware_tokens"),
    },
    context_usage: tallies.findLast(({ context }) => context !== undefined)?.context ?? null,
  };
}

const modelsOf = (tally: RunTally): Record<string, number> =>
  Object.values(sharesOf(tally))
    .flatMap(({ models }) => Object.entries(models))
    .reduce<Record<string, number>>((sums, [model, tokens]) => plus(sums, model, tokens), {});

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
