// The route planner: which targets may serve a request, in which order, and why the others may not (contract a.9). Pure.
import type { Locality } from "../../schemas/attempt.ts";
import type { ErrorClass } from "../../schemas/failure.ts";
import type { ReasonCode, RejectedProvider, RouteDecision } from "../../schemas/plan.ts";
import type { StartRequest } from "../../schemas/run.ts";

/** A target as the planner sees it. `runOnly` and `unavailable` are inputs for embedders; configured targets always stream. */
export interface Candidate {
  id: string;
  locality: Locality;
  streaming: "supported" | "run_only" | "declared_only" | "revoked";
  /** The target's own words for a revoked capability, passed on unchanged. */
  unavailableReason?: string;
}

export interface PlannerInput {
  mode: "stream" | "run";
  offline: boolean;
  candidates: readonly Candidate[];
  constraints: StartRequest["constraints"];
  preferences: StartRequest["preferences"];
}

export type RoutePlan =
  | { ok: true; chain: string[]; decision: RouteDecision }
  | { ok: false; failureCode: "capability_mismatch" | "offline"; errorClass: ErrorClass; rejected: RejectedProvider[] };

export function planRoute(input: PlannerInput): RoutePlan {
  const rejected: RejectedProvider[] = [];
  const eligible: Candidate[] = [];
  for (const candidate of input.candidates) {
    const reasons = refusals(candidate, input);
    if (reasons.length === 0) eligible.push(candidate);
    else rejected.push({ providerId: candidate.id, reasons });
  }
  const [selected, ...fallbacks] = order(eligible, input).map(({ id }) => id);
  if (selected === undefined) return refuse(rejected);
  const { constraints, preferences } = input;
  return {
    ok: true,
    chain: [selected, ...fallbacks],
    decision: {
      ...selection(selected, fallbacks),
      rejectedProviders: rejected,
      taskKind: "text_to_text",
      constraints: constraints === undefined ? null : pick(constraints, ["privacy", "cloud", "timeoutMs"]),
      preferences: preferences === undefined ? null : pick(preferences, ["optimizeFor"]),
      plannerSource: "fallback",
      plannerUnavailableReason: null,
    },
  };
}

/** The same decision for the same targets in the order in which they are tried in the end. */
export function decidedFor(decision: RouteDecision, chain: readonly { id: string }[]): RouteDecision {
  const [selected, ...fallbacks] = chain.map(({ id }) => id);
  return selected === undefined ? decision : { ...decision, ...selection(selected, fallbacks) };
}

const selection = (selected: string, fallbacks: string[]) => ({
  selectedProviderId: selected,
  fallbackProviderIds: fallbacks,
  fallbackAvailable: fallbacks.length > 0,
  explanation: { summary: `Selected '${selected}'.`, selectedProviderId: selected },
});

function refusals(candidate: Candidate, input: PlannerInput): RejectedProvider["reasons"] {
  const reasons: RejectedProvider["reasons"] = [];
  const refuseWith = (code: ReasonCode, message: string) => reasons.push({ code, message });
  const { privacy, cloud } = input.constraints ?? {};
  const { locality, streaming } = candidate;
  if (input.mode === "stream" && streaming === "run_only") {
    refuseWith("streaming_not_supported", "The target does not stream.");
  }
  if (input.mode === "stream" && (streaming === "declared_only" || streaming === "revoked")) {
    refuseWith("streaming_unavailable", candidate.unavailableReason ?? "Streaming is not available on this target.");
  }
  if (privacy === "local_required" && locality !== "local") {
    refuseWith("privacy_constraint", "The request must stay local.");
  }
  if (privacy === "cloud_required" && locality !== "cloud") {
    refuseWith("privacy_constraint", "The request must run in the cloud.");
  }
  if (cloud === "forbidden" && locality === "cloud") {
    refuseWith("cloud_constraint", "The request forbids cloud targets.");
  }
  if (cloud === "required" && locality !== "cloud") {
    refuseWith("cloud_constraint", "The request requires a cloud target.");
  }
  // The network only matters for a target that could serve the request otherwise.
  if (input.offline && locality !== "local" && reasons.length === 0) {
    refuseWith("offline", "The device is offline.");
  }
  return reasons;
}

function refuse(rejected: RejectedProvider[]): RoutePlan {
  const offline = rejected.some(({ reasons }) => reasons.some(({ code }) => code === "offline"));
  return offline
    ? { ok: false, failureCode: "offline", errorClass: "Offline", rejected }
    : { ok: false, failureCode: "capability_mismatch", errorClass: "CapabilityMismatch", rejected };
}

/** Configured order, but nearest first where the request prefers privacy. Stable. */
function order(eligible: readonly Candidate[], { constraints, preferences }: PlannerInput): Candidate[] {
  const nearFirst = constraints?.privacy === "local_preferred" || preferences?.optimizeFor === "privacy";
  if (!nearFirst) return [...eligible];
  const distance: Record<Locality, number> = { local: 0, edge: 1, cloud: 2 };
  return eligible.toSorted((left, right) => distance[left.locality] - distance[right.locality]);
}

function pick<T extends object, K extends keyof T>(source: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) if (source[key] !== undefined) picked[key] = source[key];
  return picked;
}
