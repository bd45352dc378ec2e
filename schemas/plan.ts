// What the edge hands to a run's object at its start, and the object keeps for as long as the run lives.
import type { AskPlan } from "./ask.ts";
import type { IngestPlan } from "./collection.ts";
import type { Locality } from "./attempt.ts";
import type { AdapterId, BreakerSettings, HedgeSettings, Limits, Target } from "./config.ts";
import type { FailureClass } from "./failure.ts";
import type { StartRequest } from "./run.ts";
import type { ThreadRef } from "./thread.ts";
import type { AgentPlan } from "./tool.ts";

/** All clocks in milliseconds. */
export interface AttemptClocks {
  headersMs: number;
  firstOutputMs: number;
  idleMs: number;
  progressMs: number;
  minBytesPerSecond: number;
}

/** A target with its clocks settled: configuration, shortened by the request. */
export interface PlannedTarget {
  id: string;
  adapter: AdapterId;
  locality: Locality;
  clocks: AttemptClocks;
  /** How often the target may be tried again after a failure that allows it. */
  retries: number;
  /** It goes on from an assistant message that ends the conversation. */
  continues: boolean;
  /** Targets of one scope share a key at one place, and with it the key's limits. */
  scope: string;
  target: Target;
}

/**
 * How a target did in one attempt, begun at `startedAt` (Unix epoch, milliseconds). `shown`: its first output is there, which
 * says how fast it is and not yet whether it answers.
 */
export type TargetReport =
  | { targetId: string; result: "shown"; firstOutputMs: number }
  | { targetId: string; result: "answered"; startedAt: number }
  | { targetId: string; result: "failed"; startedAt: number; failureClass: FailureClass; retryAfterMs?: number };

/** A report with what a tenant needs to judge it. */
export interface TargetNews {
  report: TargetReport;
  scope: string;
  breaker: BreakerSettings;
}

/** What a run asks of its tenant before it starts. */
export interface Admission {
  runId: string;
  /** Unix epoch, milliseconds: none of the run's attempts began before, and by `until` the run has ended. */
  startedAt: number;
  until: number;
  maxActiveRuns: number;
  chain: { id: string; scope: string }[];
  breaker: BreakerSettings;
  hedge: HedgeSettings | undefined;
}

/** `benched`: targets to try after the others. `hedgeAfterMs`: so long after its start the run may ask for a further request. */
export type Admitted = { admitted: true; benched: string[]; hedgeAfterMs: number | undefined } | { admitted: false };

/** What of the request decides about attempts. */
export interface Asks {
  /** UTF-8 bytes that a model reads. */
  promptBytes: number;
  tools: boolean;
  json: boolean;
  /** Names of the request's own tools, which the client runs. A run without an agent needs none: all of its calls are the client's. */
  clientTools?: readonly string[];
}

/** The chat that a run is a turn of: its visitor's object is told how the run ended before anybody else is. */
export interface ChatRef {
  visitor: string;
  chatId: string;
}

export interface RunPolicies {
  /** False for a run whose first reader cannot replace shown text: nothing is ever replaced but what a crash has voided. */
  replaces: boolean;
  onDisconnect: "continue" | "cancel";
  onMidStreamFailure: "fail" | "retract" | "continue";
  durability: "standard" | "strict";
  telemetry: boolean;
}

export interface PushPlan {
  /** Milliseconds after which a producer that says nothing counts as lost. */
  leaseMs: number;
}

export interface RunPlan {
  runId: string;
  tenant: string;
  /** Erased in the terminal's transaction. */
  request: StartRequest;
  policies: RunPolicies;
  metadata?: Record<string, unknown>;
  /** Hex SHA-256 of the validated body as key-sorted JSON. */
  requestHash: string;
  idempotencyKey?: string;
  /** In the order they are tried; empty only for a run whose events are pushed. */
  chain: PlannedTarget[];
  /** Milliseconds from accept. */
  totalMs: number;
  asks: Asks;
  breaker: BreakerSettings;
  hedge: HedgeSettings | undefined;
  /** Set when the tenant has admitted the run: milliseconds after its start. */
  hedgeAfterMs?: number | undefined;
  limits: Limits;
  /** How the route was chosen, for telemetry. */
  decision: RouteDecision;
  /** `undefined`: one step, whose tool calls are all the client's. */
  agent: AgentPlan | undefined;
  chat: ChatRef | undefined;
  /** A run in a thread has an agent. */
  thread?: ThreadRef;
  /** The run is carried out elsewhere, and its events are pushed: then no target is called, and the chain is empty. */
  push?: PushPlan;
  /** The run answers a question from what was found for it. */
  ask?: AskPlan;
  /** The run keeps documents: the collection's object pushes its events, and nobody else does. */
  ingest?: IngestPlan;
  /** The run whose open calls this one settles: its object lets only one run do that. */
  continues: string | undefined;
}

export interface RejectedProvider {
  providerId: string;
  reasons: { code: ReasonCode; message: string }[];
}

/** Why a target may not serve a request (contract a.9). */
export type ReasonCode =
  | "run_not_supported"
  | "privacy_constraint"
  | "cloud_constraint"
  | "offline"
  | "streaming_not_supported"
  | "streaming_unavailable";

/** Payload of the `route_decided` telemetry event. */
export interface RouteDecision {
  selectedProviderId: string;
  fallbackProviderIds: string[];
  rejectedProviders: RejectedProvider[];
  fallbackAvailable: boolean;
  taskKind: "text_to_text";
  explanation: { summary: string; selectedProviderId: string };
  constraints: Partial<Record<"privacy" | "cloud" | "timeoutMs", string | number | undefined>> | null;
  preferences: { optimizeFor?: string | undefined } | null;
  plannerSource: "fallback";
  plannerUnavailableReason: null;
}
