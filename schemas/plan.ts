// What the edge hands to a run's object at its start, and the object keeps for as long as the run lives.
import type { Locality } from "./attempt.ts";
import type { AdapterId, Limits, Target } from "./config.ts";
import type { StartRequest } from "./run.ts";

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
  target: Target;
}

export interface RunPolicies {
  onDisconnect: "continue" | "cancel";
  onMidStreamFailure: "fail" | "retract";
  durability: "standard" | "strict";
  telemetry: boolean;
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
  /** In the order they are tried; never empty. */
  chain: PlannedTarget[];
  /** Milliseconds from accept. */
  totalMs: number;
  limits: Limits;
  /** How the route was chosen, for telemetry. */
  decision: RouteDecision;
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
