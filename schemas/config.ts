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

/** Those whose servers make embeddings, in a form that is spoken here. */
export const embedderIdSchema = v.picklist(["openai-chat", "ollama", "cohere", "gemini", "workers-ai"]);
export type EmbedderId = v.InferOutput<typeof embedderIdSchema>;

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
  /** What the model reads and writes at most; 128000 when left out. */
  contextTokens: v.optional(wholeNumber(1, 100_000_000)),
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
    /** UTF-8 bytes of all text that a request brings a model; what is kept of its conversation does not count. */
    maxPromptBytes: v.optional(wholeNumber(1, 16 * 1024 * 1024), 524_288),
    /** UTF-8 bytes of text, reasoning and tool input a run may produce. */
    maxOutputBytes: v.optional(wholeNumber(1, 32 * 1024 * 1024), 8_388_608),
    maxRecoveries: v.optional(wholeNumber(0, 100), 3),
    maxActiveRuns: v.optional(wholeNumber(1, 100_000), 100),
    /** Milliseconds a run may spend waiting between its attempts. */
    retryBudgetMs: v.optional(wholeNumber(0, 3_600_000), 20_000),
    /** Model calls of a run that calls tools itself, at most. */
    maxSteps: v.optional(wholeNumber(1, 1000), 30),
    /** UTF-8 bytes of one tool's output; what is longer is cut, with a mark. */
    maxToolOutputBytes: v.optional(wholeNumber(64, 4 * 1024 * 1024), 65_536),
    /** Milliseconds that the producer of a pushed run may be silent; a run may ask for less. */
    producerLeaseMs: v.optional(wholeNumber(100, 3_600_000), 30_000),
    /** Milliseconds that a pushed run may take in all; a run may ask for less. */
    producerTotalMs: v.optional(wholeNumber(1000, DAY_MS), 3_600_000),
    /** Bytes of storage of one thread: its records, its state, its runs. */
    maxThreadBytes: v.optional(wholeNumber(1024 * 1024, 8 * 1024 * 1024 * 1024), 1_073_741_824),
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

const secretName = v.pipe(v.string(), v.regex(/^[A-Z][A-Z0-9_]*$/));
const httpUrl = v.pipe(v.string(), v.url(), v.regex(/^https?:\/\/[^#@]*$/));
const globs = v.array(v.pipe(v.string(), v.regex(/^(\*|\*?[^*]+|[^*]+\*)$/)));
export const toolModeSchema = v.picklist(["read", "write", "delete"]);

export const toolConfigSchema = v.strictObject({
  name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/)),
  description: v.optional(v.string(), ""),
  url: httpUrl,
  /** JSON Schema of the input object. */
  parameters: v.optional(v.record(v.string(), v.unknown()), { type: "object", properties: {} }),
  domain: v.optional(v.pipe(v.string(), v.minLength(1)), "other"),
  mode: v.optional(toolModeSchema, "read"),
  confirmation: v.optional(v.literal("required")),
  /** A call whose run was cut off may be made again. */
  idempotent: v.optional(v.boolean(), false),
  timeoutMs: v.optional(wholeNumber(1, 600_000), 30_000),
  /** Name of the secret that signs the tool's requests (Standard Webhooks). */
  keyVar: v.optional(secretName),
});
export type ToolConfig = v.InferOutput<typeof toolConfigSchema>;

const mcpServerSchema = v.strictObject({
  id,
  /** Streamable HTTP. */
  url: httpUrl,
  /** Name of the secret that is sent as a bearer token. */
  keyVar: v.optional(secretName),
  /** Patterns over tool names: `*`, `x*`, `*x`, or the exact name. */
  allow: v.optional(globs, ["*"]),
});

const policySchema = objectOnly(
  v.strictObject({
    web: v.optional(v.boolean()),
    code: v.optional(v.boolean()),
    mcp: v.optional(
      objectOnly(
        v.strictObject({
          allow: v.optional(globs),
          domains: v.optional(v.array(v.string())),
          max_mode: v.optional(toolModeSchema),
        }),
      ),
    ),
    client: v.optional(objectOnly(v.strictObject({ allow: v.optional(globs) }))),
  }),
);
/** What a named policy, or a grant in a token, allows. */
export type Policy = v.InferOutput<typeof policySchema>;

/** `"max,minutes"`; a max of 0: no limit. */
const throttle = v.pipe(v.string(), v.regex(/^\d{1,6},[1-9]\d{0,4}$/));
const origin = v.pipe(v.string(), v.regex(/^(\*|https?:\/\/[^/?#]+)$/));

const svedaSchema = objectOnly(
  v.strictObject({
    embed: v.optional(v.boolean(), true),
    /** Seconds. */
    tokenTtl: v.optional(wholeNumber(1, 31_536_000), 3600),
    origins: v.optional(v.array(origin), ["*"]),
    /** Where a host page's MCP server may be; left out: anywhere public. */
    mcpOrigins: v.optional(v.array(v.pipe(v.string(), v.regex(/^https?:\/\/[^/?#]+$/)))),
    policies: v.optional(v.record(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/)), policySchema), {}),
    appearance: v.optional(v.record(v.string(), v.unknown()), {}),
    welcomeMessage: v.optional(v.string(), ""),
    systemPrompt: v.optional(v.string(), ""),
    maxSteps: v.optional(wholeNumber(1, 1000), 30),
    onDisconnect: v.optional(v.picklist(["continue", "cancel"]), "continue"),
    limits: v.optional(
      v.strictObject({
        /** Turns of a visitor, turns from an address, tokens made by a tenant. */
        stream: v.optional(throttle, "60,1"),
        ip: v.optional(throttle, "0,1"),
        token: v.optional(throttle, "30,1"),
        /** Turns that run at the same time, of a tenant and of a visitor; 0: no limit. */
        active: v.optional(wholeNumber(0, 100_000), 0),
        activePerVisitor: v.optional(wholeNumber(0, 100_000), 10),
      }),
      {},
    ),
  }),
);

/** Numbers of an embedding, at most. */
export const MAX_DIMENSIONS = 4096;

const kebabSchema = objectOnly(
  v.strictObject({
    /** A document that was not updated for longer is stale; 0: none ever is. */
    staleDays: v.optional(wholeNumber(0, 36_500), 30),
    /** A question whose best hit scores less asks no model. */
    scoreGate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.3),
    /** Who makes embeddings of documents and questions; left out: nobody does. */
    embedding: v.optional(
      objectOnly(
        v.strictObject({
          /** One of `targets`, whose model makes embeddings. */
          target: v.string(),
          /** Asked of a model that can make several. */
          dimensions: v.optional(wholeNumber(1, MAX_DIMENSIONS)),
        }),
      ),
    ),
    texts: v.optional(
      objectOnly(
        v.strictObject({
          /** The answer to a question for which nothing, or nothing good enough, was found. */
          noEvidence: v.optional(
            v.pipe(v.string(), v.minLength(1), v.maxLength(1024)),
            "There is not enough evidence: the documents hold nothing on this question.",
          ),
        }),
      ),
      {},
    ),
  }),
);

const deerflowSchema = objectOnly(
  v.strictObject({
    /** Instead of the one of `limits`: this family's clients come back by themselves, within about 22 s. */
    disconnectGraceMs: v.optional(wholeNumber(0, 3_600_000), 30_000),
  }),
);

export const configSchema = objectOnly(
  v.strictObject({
    $schema: v.optional(v.string()),
    targets: v.pipe(v.array(targetSchema), v.minLength(1)),
    routes: v.record(id, routeSchema),
    limits: v.optional(limitsSchema, {}),
    breaker: v.optional(breakerSchema, {}),
    tools: v.optional(v.pipe(v.array(toolConfigSchema), v.maxLength(128)), []),
    mcpServers: v.optional(v.pipe(v.array(mcpServerSchema), v.maxLength(16)), []),
    sveda: v.optional(svedaSchema, {}),
    kebab: v.optional(kebabSchema, {}),
    deerflow: v.optional(deerflowSchema, {}),
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
