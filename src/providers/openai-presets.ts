// The servers that speak OpenAI Chat Completions, and how each departs from it. Data only: the request builder acts on it.
import type { HostedPresetId, PresetId, Target } from "../../schemas/config.ts";
import type { idRules } from "./call-ids.ts";

/** `plain`: as any message. `prefix`: marked on the message. `continue_final_message`: said beside the messages. */
export type Continuation = "none" | "plain" | "prefix" | "continue_final_message";

/** `extra_content` is a call's own, the others are the message's. */
export type Echoed = "reasoning_content" | "reasoning_details" | "extra_content";

/** How a server will have the body. */
export interface ChatFormat {
  /** Whether usage must be asked for, and may be. */
  streamOptions: boolean;
  maxTokens: "max_tokens" | "max_completion_tokens";
  seed?: "seed" | "random_seed";
  stop: boolean;
  tools: boolean;
  /** The word for a call that must be made. */
  required: "required" | "any";
  /** Whether one tool can be demanded by its name. */
  namedTool: boolean;
  toolIds: keyof typeof idRules;
  images: boolean;
  jsonObject: boolean;
  /** `named`: within an object that names it. */
  jsonSchema: "named" | "bare" | "none";
  /** The fields of an answer with calls that go back with it. */
  echoes: readonly Echoed[];
  /** Whether every answer must have its `reasoning_content`, be it an empty one, in a conversation with tools. */
  reasons: boolean;
  /** The content of an assistant's message that has none. */
  noText: null | "";
}

export interface Preset extends ChatFormat {
  /** Undefined where every user has another. */
  baseUrl?: string;
  /** The header that carries the key. `authorization` and `cf-aig-authorization` say `Bearer` before it. */
  keyHeader: "authorization" | "api-key" | "cf-aig-authorization";
  /** What comes before every path where the base URL is a host alone: `{model}` stands for the target's model. */
  rootPath?: { path: string; query: Record<string, string> };
  /** The word for how many numbers an embedding is to have. */
  dimensions: "dimensions" | "output_dimension";
  /** How a conversation that ends in an assistant's message is continued rather than answered. */
  continuation: Continuation;
  /** Continuation works only where the base URL ends in this. */
  continuationPath?: string;
}

/** A server that nobody has named: the whole format, and the older name of the token limit, which all servers know. */
const unnamed: Preset = {
  keyHeader: "authorization",
  streamOptions: true,
  maxTokens: "max_tokens",
  seed: "seed",
  stop: true,
  tools: true,
  required: "required",
  namedTool: true,
  toolIds: "any",
  images: true,
  jsonObject: true,
  jsonSchema: "named",
  // What it has sent, it knows: several of these servers refuse calls without their reasoning.
  echoes: ["reasoning_content", "extra_content"],
  reasons: false,
  noText: null,
  dimensions: "dimensions",
  continuation: "plain",
};

/** A server with an API of its own, which knows no fields but those that it names. */
const named: Preset = { ...unnamed, echoes: [] };

const { seed: _seed, ...unseeded } = named;

const hosted: Record<HostedPresetId, Preset & { baseUrl: string }> = {
  openai: {
    ...named,
    baseUrl: "https://api.openai.com/v1",
    // Reasoning models refuse the older name.
    maxTokens: "max_completion_tokens",
    toolIds: "openai",
    continuation: "none",
  },
  openrouter: { ...named, echoes: ["reasoning_details"], baseUrl: "https://openrouter.ai/api/v1" },
  deepseek: {
    ...unseeded,
    baseUrl: "https://api.deepseek.com",
    images: false,
    jsonSchema: "none",
    echoes: ["reasoning_content"],
    reasons: true,
    continuation: "prefix",
    continuationPath: "/beta",
  },
  mistral: {
    ...named,
    baseUrl: "https://api.mistral.ai/v1",
    // Refuses fields that it does not know, and reports usage unasked.
    streamOptions: false,
    seed: "random_seed",
    required: "any",
    toolIds: "mistral",
    dimensions: "output_dimension",
    continuation: "prefix",
  },
  groq: { ...named, baseUrl: "https://api.groq.com/openai/v1", maxTokens: "max_completion_tokens" },
  xai: {
    ...named,
    baseUrl: "https://api.x.ai/v1",
    maxTokens: "max_completion_tokens",
    // Its reasoning models refuse the whole request for it.
    stop: false,
    continuation: "none",
  },
  perplexity: {
    ...unseeded,
    baseUrl: "https://api.perplexity.ai",
    // Reports usage with every event.
    streamOptions: false,
    tools: false,
    jsonObject: false,
    continuation: "none",
  },
  together: { ...named, baseUrl: "https://api.together.xyz/v1" },
};

const presets: Record<PresetId, Preset> = {
  ...hosted,
  azure: {
    ...named,
    keyHeader: "api-key",
    rootPath: { path: "/openai/deployments/{model}", query: { "api-version": "2024-10-21" } },
    maxTokens: "max_completion_tokens",
    toolIds: "openai",
    continuation: "none",
  },
  vllm: { ...unnamed, continuation: "continue_final_message" },
  sglang: { ...unnamed, continuation: "continue_final_message" },
  "llama-cpp": unnamed,
  "lm-studio": { ...named, namedTool: false, jsonObject: false },
  // The key is the gateway's own; the providers' keys are kept in the gateway. What is behind it may be any model.
  "cloudflare-ai-gateway": {
    ...named,
    echoes: ["extra_content"],
    keyHeader: "cf-aig-authorization",
    continuation: "none",
  },
};

/** Workers AI's own API: usage unasked, schemas as they are, and no null for a text. */
export const workersAiFormat: ChatFormat = {
  ...named,
  streamOptions: false,
  stop: false,
  jsonSchema: "bare",
  noText: "",
};

/** The preset a target names, or the one whose host it uses. */
export function presetOf({ preset, baseUrl }: Target): Preset {
  if (preset !== undefined) return presets[preset];
  const host = baseUrl === undefined ? undefined : new URL(baseUrl).hostname;
  return Object.values(hosted).find((candidate) => new URL(candidate.baseUrl).hostname === host) ?? unnamed;
}

export function continuationOf(target: Target): Continuation {
  const preset = presetOf(target);
  const address = (target.baseUrl ?? preset.baseUrl ?? "").replace(/\/+$/, "");
  return address.endsWith(preset.continuationPath ?? "") ? preset.continuation : "none";
}
