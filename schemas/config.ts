// holdfast.config.json: targets, routes, limits, CORS. Closed objects, so that a misspelt field is named, not ignored. Shapes only.
import * as v from "valibot";
import { localitySchema } from "./attempt.ts";
import { objectOnly } from "./object-only.ts";

const id = v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,64}$/));
const wholeNumber = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const DAY_MS = 86_400_000;

export const adapterIdSchema = v.picklist([
  "demo",
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "ollama",
  "bedrock-converse",
  "cohere",
  "gemini",
  "workers-ai",
]);
export type AdapterId = v.InferOutput<typeof adapterIdSchema>;

/** Servers of the OpenAI chat family with an address of their own. */
const hostedPresets = ["openai", "openrouter", "deepseek", "mistral", "groq", "xai", "perplexity", "together"] as const;
/** Those that every user runs or rents at another address. */
const ownPresets = ["azure", "vllm", "llama-cpp", "lm-studio", "sglang", "cloudflare-ai-gateway"] as const;

export const hostedPresetIdSchema = v.picklist(hostedPresets);
export type HostedPresetId = v.InferOutput<typeof hostedPresetIdSchema>;
const presetIdSchema = v.picklist([...hostedPresets, ...ownPresets]);
export type PresetId = v.InferOutput<typeof presetIdSchema>;

/** Milliseconds per attempt, but `totalMs`: per run, from accept. */
const targetClocksSchema = objectOnly(
  v.strictObject({
    headersMs: v.optional(wholeNumber(1, DAY_MS)),
    firstOutputMs: v.optional(wholeNumber(1, DAY_MS)),
    idleMs: v.optional(wholeNumber(1, DAY_MS)),
    progressMs: v.optional(wholeNumber(1, DAY_MS)),
    totalMs: v.optional(wholeNumber(1, DAY_MS)),
    /** Wire bytes per second, averaged over 30 s. */
    minBytesPerSecond: v.optional(wholeNumber(1, 1_000_000)),
  }),
);

export const targetSchema = v.strictObject({
  id,
  adapter: adapterIdSchema,
  /** Which server of the OpenAI chat family this is; only with the adapter `openai-chat`. */
  preset: v.optional(presetIdSchema),
  baseUrl: v.optional(v.pipe(v.string(), v.url(), v.regex(/^https?:\/\/[^?#@]*$/))),
  model: v.optional(v.pipe(v.string(), v.minLength(1))),
  /** Name of the secret that holds the key; without it no key is sent. */
  keyVar: v.optional(v.pipe(v.string(), v.regex(/^[A-Z][A-Z0-9_]*$/))),
  headers: v.optional(
    objectOnly(v.record(v.pipe(v.string(), v.regex(/^[A-Za-z0-9-]+$/)), v.pipe(v.string(), v.regex(/^[\x20-\x7e]*$/)))),
  ),
  query: v.optional(objectOnly(v.record(v.string(), v.string()))),
  locality: v.optional(localitySchema),
  clocks: v.optional(targetClocksSchema),
  /** Further tries at this target after a failure that may pass by itself. */
  retries: v.optional(wholeNumber(0, 5)),
});
export type Target = v.InferOutput<typeof targetSchema>;

export const limitsSchema = objectOnly(
  v.strictObject({
    retentionEventsMs: v.optional(wholeNumber(1000, 400 * DAY_MS), DAY_MS),
    retentionOutcomeMs: v.optional(wholeNumber(1000, 400 * DAY_MS), 30 * DAY_MS),
    heartbeatMs: v.optional(wholeNumber(100, 60_000), 5000),
    reserveEvents: v.optional(wholeNumber(1, 4096), 64),
    flushMs: v.optional(wholeNumber(1, 10_000), 300),
    attachWaitMs: v.optional(wholeNumber(0, 30_000), 5000),
    disconnectGraceMs: v.optional(wholeNumber(0, 3_600_000), 10_000),
    maxBodyBytes: v.optional(wholeNumber(1024, 16 * 1024 * 1024), 1_048_576),
    /** UTF-8 bytes of all text a request sends to a model. */
    maxPromptBytes: v.optional(wholeNumber(1, 16 * 1024 * 1024), 524_288),
    /** UTF-8 bytes of text, reasoning and tool input a run may produce. */
    maxOutputBytes: v.optional(wholeNumber(1, 32 * 1024 * 1024), 8_388_608),
    maxRecoveries: v.optional(wholeNumber(0, 100), 3),
    maxActiveRuns: v.optional(wholeNumber(1, 100_000), 100),
    /** Milliseconds a run may spend waiting between its attempts. */
    retryBudgetMs: v.optional(wholeNumber(0, 3_600_000), 20_000),
  }),
);
export type Limits = v.InferOutput<typeof limitsSchema>;

/** When a tenant's runs leave a target alone. */
export const breakerSchema = objectOnly(
  v.strictObject({
    /** Failures in a row that bench a target; 0: no target is ever benched. */
    failures: v.optional(wholeNumber(0, 1000), 5),
    /** Milliseconds on the bench; doubled each time the target fails again at once. */
    coolDownMs: v.optional(wholeNumber(100, 3_600_000), 30_000),
  }),
);
export type BreakerSettings = v.InferOutput<typeof breakerSchema>;

export const hedgeSchema = objectOnly(
  v.strictObject({
    /** Milliseconds to wait for the first target while too little is known of it. */
    afterMs: v.optional(wholeNumber(1, DAY_MS), 2000),
    /** Further requests, in percent of the tenant's runs. */
    budgetPercent: v.optional(wholeNumber(1, 100), 10),
  }),
);
export type HedgeSettings = v.InferOutput<typeof hedgeSchema>;

const chainSchema = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(16));
/** A list of target ids, or an object with the list and what is special about the route. */
const routeSchema = v.union([
  chainSchema,
  objectOnly(v.strictObject({ targets: chainSchema, hedge: v.optional(hedgeSchema) })),
]);
export type Route = v.InferOutput<typeof routeSchema>;

export const configSchema = objectOnly(
  v.strictObject({
    $schema: v.optional(v.string()),
    targets: v.pipe(v.array(targetSchema), v.minLength(1)),
    routes: v.record(id, routeSchema),
    limits: v.optional(limitsSchema, {}),
    breaker: v.optional(breakerSchema, {}),
    cors: v.optional(
      v.strictObject({
        /** Exact origins, or `*` for any. */
        origins: v.array(v.pipe(v.string(), v.regex(/^(\*|https?:\/\/[^/?#]+)$/))),
      }),
      { origins: [] },
    ),
  }),
);
export type Config = v.InferOutput<typeof configSchema>;
