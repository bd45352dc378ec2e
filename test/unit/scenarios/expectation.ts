// What IndeRun's engine conformance may expect of a run, and what is wrong with a run against it. Runs nothing.
import * as v from "valibot";

const strings = v.array(v.string());
const counts = v.record(v.string(), v.number());

/** Closed: an expectation that is not understood must not pass for one that is met. */
export const expectationSchema = v.strictObject({
  eventTypes: v.optional(strings),
  sequences: v.optional(v.array(v.number())),
  contentTexts: v.optional(strings),
  terminalCount: v.optional(v.number()),
  eventsAfterTerminal: v.optional(v.number()),
  terminal: v.optional(
    v.strictObject({
      outcome: v.string(),
      finalText: v.optional(v.string()),
      partialText: v.optional(v.string()),
      finishReason: v.optional(v.string()),
      usage: v.optional(counts),
      absentFinishReason: v.optional(v.literal(true)),
      absentUsage: v.optional(v.literal(true)),
      errorClass: v.optional(v.string()),
      reason: v.optional(v.string()),
    }),
  ),
  rejectsWith: v.optional(
    v.strictObject({
      errorClass: v.optional(v.string()),
      runId: v.optional(v.string()),
      failureCode: v.optional(v.string()),
      rejectedProviders: v.optional(
        v.array(v.strictObject({ providerId: v.string(), reasons: strings, messages: v.optional(strings) })),
      ),
    }),
  ),
  providerCallCounts: v.optional(counts),
  providerInterrupted: v.optional(v.boolean()),
  runSelectedProviderId: v.optional(v.string()),
  streamSelectedProviderId: v.optional(v.string()),
  handleStartedAtIsUnixEpochMillis: v.optional(v.literal(true)),
  telemetryTypes: v.optional(strings),
  telemetryTypesContain: v.optional(strings),
  telemetryForbiddenPayloadKeys: v.optional(strings),
  telemetryForbiddenPayloadValues: v.optional(strings),
  telemetryStableMessageEvents: v.optional(strings),
  noReplayOnSecondIteration: v.optional(v.literal(true)),
});
export type Expectation = v.InferOutput<typeof expectationSchema>;

/** What was seen of one scenario; `undefined` where a scenario has no such thing. */
export interface Observed {
  eventTypes: string[];
  sequences: number[];
  contentTexts: string[];
  terminalCount: number;
  eventsAfterTerminal: number;
  terminal: Record<string, unknown> | undefined;
  rejectsWith:
    | {
        errorClass: string;
        runId: string | undefined;
        failureCode: string;
        rejectedProviders: { providerId: string; reasons: string[]; messages: string[] }[];
      }
    | undefined;
  providerCallCounts: Record<string, number>;
  providerInterrupted: boolean;
  runSelectedProviderId: string | undefined;
  streamSelectedProviderId: string | undefined;
  handleStartedAtIsUnixEpochMillis: boolean;
  telemetry: { type: string; payload: Record<string, unknown> }[];
  noReplayOnSecondIteration: boolean;
}

/** The texts of contract a.5, one per class, whatever went wrong. */
const stableTexts: Record<string, string> = {
  CapabilityMismatch: "Provider capability mismatch.",
  Offline: "Device is offline.",
  AuthError: "Authentication failed.",
  RateLimited: "Rate limit exceeded.",
  Timeout: "Execution timed out.",
  Unavailable: "Provider is unavailable.",
  Internal: "An internal engine error occurred.",
};

/** The part of what was observed that an expectation speaks of, in the expectation's own shape: equal when it is met. */
export function observedAs(expected: Expectation, seen: Observed): Expectation {
  const types = seen.telemetry.map(({ type }) => type);
  const facts: Record<keyof Expectation, unknown> = {
    ...seen,
    terminal: terminalAs(expected.terminal ?? { outcome: "" }, seen.terminal ?? {}),
    rejectsWith: seen.rejectsWith && rejectionAs(expected.rejectsWith ?? {}, seen.rejectsWith),
    providerCallCounts: pick(seen.providerCallCounts, Object.keys(expected.providerCallCounts ?? {})),
    telemetryTypes: types,
    telemetryTypesContain: (expected.telemetryTypesContain ?? []).filter((type) => types.includes(type)),
    telemetryForbiddenPayloadKeys: absentFrom(keysOf(seen.telemetry), expected.telemetryForbiddenPayloadKeys ?? []),
    telemetryForbiddenPayloadValues: (expected.telemetryForbiddenPayloadValues ?? []).filter(
      (word) => !valuesOf(seen.telemetry.map(({ payload }) => payload)).some((value) => value.includes(word)),
    ),
    telemetryStableMessageEvents: (expected.telemetryStableMessageEvents ?? []).filter((type) => {
      const told = seen.telemetry.filter((entry) => entry.type === type);
      const stable = ({ payload }: { payload: Record<string, unknown> }) =>
        payload["message"] === stableTexts[String(payload["errorClass"])];
      return told.length > 0 && told.every(stable);
    }),
  };
  return v.parse(expectationSchema, pick(facts, Object.keys(expected)));
}

function terminalAs(expected: NonNullable<Expectation["terminal"]>, payload: Record<string, unknown>) {
  const error = v.parse(v.looseObject({ errorClass: v.optional(v.string()) }), payload["error"] ?? {});
  return pick(
    {
      ...payload,
      errorClass: error.errorClass,
      absentFinishReason: !("finishReason" in payload) || undefined,
      absentUsage: !("usage" in payload) || undefined,
    },
    Object.keys(expected),
  );
}

function rejectionAs(expected: NonNullable<Expectation["rejectsWith"]>, seen: NonNullable<Observed["rejectsWith"]>) {
  const rejectedProviders = seen.rejectedProviders.map((rejected, index) =>
    pick(rejected, Object.keys(expected.rejectedProviders?.[index] ?? { providerId: "", reasons: [] })),
  );
  return pick({ ...seen, rejectedProviders }, Object.keys(expected));
}

function pick(source: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => source[key] !== undefined).map((key) => [key, source[key]]));
}

const absentFrom = (present: readonly string[], words: readonly string[]): string[] =>
  words.filter((word) => !present.includes(word));

/** All keys at any depth of the telemetry payloads. */
function keysOf(telemetry: Observed["telemetry"]): string[] {
  const walk = (value: unknown): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, child]) => [key, ...walk(child)])
      : [];
  return telemetry.flatMap(({ payload }) => walk(payload));
}

function valuesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(valuesOf);
  return [String(value)];
}
