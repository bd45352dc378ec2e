// Plays one conformance scenario and notes what a client, a provider and an operator see of it. Judges nothing.
import * as v from "valibot";
import { transition } from "../../../src/run/machine.ts";
import { planRoute, type PlannerInput } from "../../../src/run/planner.ts";
import { checkConfig } from "../../../src/run/settings.ts";
import { evolve } from "../../../src/run/evolve.ts";
import { initialState } from "../../../src/run/state.ts";
import { planBody } from "../planned.ts";
import { charter, drive, EPOCH, type Drive } from "./drive.ts";
import type { Observed } from "./expectation.ts";
import type { Scenario } from "./table.ts";

export async function observe(scenario: Scenario): Promise<Observed> {
  if ("acts" in scenario) return observeRun(scenario.chain, scenario.acts);
  return observeRoutes({ ...noWishes, ...scenario.routes }, scenario.requestId);
}

const record = v.record(v.string(), v.unknown());

const noWishes = { mode: "stream", offline: false, constraints: undefined, preferences: undefined } as const;

function observeRun(chain: readonly string[], acts: Parameters<typeof drive>[1]): Observed {
  const before = Date.now();
  const accepted = charter(chain, { startedAt: Date.now() });
  const after = Date.now();
  const run = drive(accepted, acts);
  // IndeRun's engine emits content and terminal only; ours are compared without the rest, renumbered.
  const events = run.events
    .filter(({ type }) => type === "content_delta" || type === "content_snapshot" || type === "terminal")
    .map((event, sequence) => ({ ...event, sequence }));
  const end = events.findIndex(({ type }) => type === "terminal");
  return {
    ...nothingSeen,
    eventTypes: events.map(({ type }) => type),
    sequences: events.map(({ sequence }) => sequence),
    contentTexts: events.flatMap(({ type, payload }) => (type === "terminal" ? [] : [String(textOf(payload))])),
    terminalCount: events.filter(({ type }) => type === "terminal").length,
    eventsAfterTerminal: end < 0 ? 0 : events.length - 1 - end,
    terminal: run.outcome === undefined ? undefined : v.parse(record, run.outcome),
    providerCallCounts: run.calls,
    providerInterrupted: run.aborted.length > 0,
    streamSelectedProviderId: accepted.decision.selectedProviderId,
    handleStartedAtIsUnixEpochMillis:
      accepted.startedAt > EPOCH && before <= accepted.startedAt && accepted.startedAt <= after && onTime(run),
    telemetry: run.telemetry.map(({ type, payload }) => ({ type, payload: v.parse(record, payload) })),
    noReplayOnSecondIteration: readsTheSameTwice(run),
  };
}

const nothingSeen: Observed = {
  eventTypes: [],
  sequences: [],
  contentTexts: [],
  terminalCount: 0,
  eventsAfterTerminal: 0,
  terminal: undefined,
  rejectsWith: undefined,
  providerCallCounts: {},
  providerInterrupted: false,
  runSelectedProviderId: undefined,
  streamSelectedProviderId: undefined,
  handleStartedAtIsUnixEpochMillis: false,
  telemetry: [],
  noReplayOnSecondIteration: false,
};

const textOf = (payload: object): unknown => Reflect.get(payload, "text");

/** The run's length is counted from `startedAt`: with another clock than the events' it would make no sense. */
function onTime({ outcome }: Drive): boolean {
  const totalMs = outcome?.telemetry?.totalMs;
  return totalMs !== undefined && totalMs >= 0 && totalMs < 60_000;
}

/** Our events may be read again, unlike IndeRun's; what holds for both is that reading again never runs the run again. */
function readsTheSameTwice(run: Drive): boolean {
  const fold = () => JSON.stringify(run.events.reduce(evolve, initialState(run.state.charter)));
  const same = fold() === JSON.stringify(run.state) && fold() === fold();
  const again = transition(run.state, { type: "start", at: Date.now() });
  return same && again.state === run.state && again.events.length === 0 && again.effects.length === 0;
}

async function observeRoutes(input: PlannerInput, requestId: string | undefined): Promise<Observed> {
  const stream = planRoute(input);
  const run = planRoute({ ...input, mode: "run" });
  const chain = stream.ok ? stream.chain : [];
  return {
    ...nothingSeen,
    ...(!stream.ok && {
      rejectsWith: {
        errorClass: stream.errorClass,
        runId: requestId === undefined ? undefined : await runIdOfRefusal(requestId),
        failureCode: stream.failureCode,
        rejectedProviders: stream.rejected.map(({ providerId, reasons }) => ({
          providerId,
          reasons: reasons.map(({ code }) => code),
          messages: reasons.map(({ message }) => message),
        })),
      },
    }),
    // Only a target of the chain can ever be called.
    providerCallCounts: Object.fromEntries(input.candidates.map(({ id }) => [id, chain.includes(id) ? 1 : 0])),
    runSelectedProviderId: run.ok ? run.decision.selectedProviderId : undefined,
    streamSelectedProviderId: stream.ok ? stream.decision.selectedProviderId : undefined,
  };
}

/** The run id that a start names when its route is refused. */
async function runIdOfRefusal(requestId: string): Promise<string | undefined> {
  const baseUrl = "https://provider.test";
  const settings = checkConfig({
    targets: [{ id: "far", adapter: "openai-chat", baseUrl, model: "m" }],
    routes: { default: ["far"] },
  });
  if (!settings.ok) return undefined;
  const request = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Hello", requestId };
  const constraints = { privacy: "local_required" };
  const planned = await planBody({ ...request, constraints }, settings.config);
  return planned.ok ? undefined : planned.problem.runId;
}
