// The 33 scenarios of IndeRun's engine conformance, told as scripts for the run machine and the route planner, with what each must show.
import type { Candidate, PlannerInput } from "../../../src/run/planner.ts";
import { begin, cancel, cut, done, fails, says, snapshot, stopped, text, type Act } from "./drive.ts";
import type { Expectation } from "./expectation.ts";

export type Scenario = { id: string; expect: Expectation } & (
  | { chain: string[]; acts: Act[] }
  | { routes: Partial<PlannerInput> & { candidates: Candidate[] }; requestId?: string }
);

const cloud = (id: string, fields: Partial<Candidate> = {}): Candidate => ({
  id,
  locality: "cloud",
  streaming: "supported",
  ...fields,
});

export const scenarios: Scenario[] = [
  {
    id: "deltas_then_completed",
    chain: ["p1"],
    acts: [begin, says("p1", text("Hello")), says("p1", text(" world")), says("p1", done("Hello world"))],
    expect: {
      eventTypes: ["content_delta", "content_delta", "terminal"],
      sequences: [0, 1, 2],
      contentTexts: ["Hello", " world"],
      terminalCount: 1,
      terminal: { outcome: "completed", finalText: "Hello world" },
    },
  },
  {
    id: "snapshot_replaces_cumulative_text",
    chain: ["p1"],
    acts: [begin, says("p1", snapshot("Loc"), snapshot("Local first"), done("Local first"))],
    expect: {
      eventTypes: ["content_snapshot", "content_snapshot", "terminal"],
      sequences: [0, 1, 2],
      contentTexts: ["Loc", "Local first"],
      terminalCount: 1,
      terminal: { outcome: "completed", finalText: "Local first" },
    },
  },
  {
    id: "completed_carries_finish_reason_and_usage",
    chain: ["p1"],
    acts: [
      begin,
      says("p1", text("trunc")),
      says(
        "p1",
        { type: "usage", usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 } },
        { type: "verdict", verdict: "complete", stopReason: "length", finalText: "trunc" },
      ),
    ],
    expect: {
      terminalCount: 1,
      terminal: {
        outcome: "completed",
        finalText: "trunc",
        finishReason: "length",
        usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 },
      },
    },
  },
  {
    id: "completed_omits_finish_reason_when_absent",
    chain: ["p1"],
    acts: [begin, says("p1", text("a"), done("a"))],
    expect: {
      terminalCount: 1,
      terminal: { outcome: "completed", finalText: "a", absentFinishReason: true, absentUsage: true },
    },
  },
  {
    id: "handle_started_at_is_unix_epoch_millis",
    chain: ["p1"],
    acts: [begin, says("p1", done(""))],
    expect: { handleStartedAtIsUnixEpochMillis: true },
  },
  {
    id: "terminal_error_carries_error_class",
    chain: ["p1"],
    acts: [begin, says("p1", text("partial ")), says("p1", fails("rate_limited"))],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "error", partialText: "partial ", errorClass: "RateLimited" },
    },
  },
  {
    id: "all_providers_fail_pre_commit_yields_single_error",
    chain: ["p1", "p2"],
    acts: [begin, says("p1", fails("connect")), says("p2", fails("upstream_5xx"))],
    expect: {
      eventTypes: ["terminal"],
      terminalCount: 1,
      terminal: { outcome: "error", errorClass: "Unavailable", partialText: "" },
      providerCallCounts: { p1: 1, p2: 1 },
    },
  },
  {
    id: "cancelled_carries_partial_text_and_reason",
    chain: ["p1"],
    acts: [begin, says("p1", text("one")), cancel("user stopped")],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "cancelled", partialText: "one", reason: "user stopped" },
    },
  },
  {
    id: "no_events_are_delivered_after_the_terminal",
    chain: ["p1"],
    acts: [begin, says("p1", text("a"), done("a"), text("b")), says("p1", text("b"))],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      eventsAfterTerminal: 0,
      terminal: { outcome: "completed", finalText: "a" },
    },
  },
  {
    id: "cancel_before_first_attempt_forecloses_every_provider",
    chain: ["p1", "p2"],
    acts: [cancel(), begin, says("p1", text("never")), says("p2", text("never"))],
    expect: {
      eventTypes: ["terminal"],
      terminalCount: 1,
      terminal: { outcome: "cancelled", partialText: "" },
      providerCallCounts: { p1: 0, p2: 0 },
    },
  },
  {
    id: "cancel_during_emit_stops_further_deltas",
    chain: ["p1"],
    acts: [begin, says("p1", text("one")), cancel(), says("p1", text("two"), done("one two"))],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "cancelled", partialText: "one" },
    },
  },
  {
    id: "cancel_after_terminal_is_a_no_op",
    chain: ["p1"],
    acts: [begin, says("p1", text("done"), done("done")), cancel("too late")],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      eventsAfterTerminal: 0,
      terminal: { outcome: "completed", finalText: "done" },
    },
  },
  {
    id: "concurrent_cancels_yield_one_outcome_first_reason_wins",
    chain: ["p1"],
    acts: [begin, says("p1", text("one")), cancel("first"), cancel("second")],
    expect: { terminalCount: 1, terminal: { outcome: "cancelled", reason: "first" } },
  },
  {
    id: "cancel_during_pre_commit_attempt_forecloses_next_route",
    chain: ["p1", "p2"],
    acts: [begin, cancel(), says("p1", fails("connect")), says("p2", done("never"))],
    expect: {
      terminalCount: 1,
      terminal: { outcome: "cancelled" },
      providerCallCounts: { p1: 1, p2: 0 },
    },
  },
  {
    id: "cancel_unblocks_a_provider_waiting_for_output",
    chain: ["p1"],
    acts: [begin, says("p1", text("one")), cancel(), says("p1", { type: "verdict", verdict: "aborted" })],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "cancelled", partialText: "one" },
      providerInterrupted: true,
    },
  },
  {
    id: "no_streaming_capable_provider_rejects_with_run_id",
    routes: { candidates: [cloud("p_run_only", { streaming: "run_only" })] },
    requestId: "req-42",
    expect: { rejectsWith: { errorClass: "CapabilityMismatch", runId: "req-42" } },
  },
  {
    id: "declared_streaming_without_implementation_rejected",
    routes: { candidates: [cloud("p_declared_only", { streaming: "declared_only" })] },
    expect: {
      rejectsWith: {
        errorClass: "CapabilityMismatch",
        rejectedProviders: [{ providerId: "p_declared_only", reasons: ["streaming_unavailable"] }],
      },
      providerCallCounts: { p_declared_only: 0 },
    },
  },
  {
    id: "dynamic_capability_revocation_rejected_with_reason",
    routes: {
      candidates: [
        cloud("p_revoked", { streaming: "revoked", unavailableReason: "Host has no chunked HTTP capability." }),
      ],
    },
    expect: {
      rejectsWith: {
        errorClass: "CapabilityMismatch",
        rejectedProviders: [
          {
            providerId: "p_revoked",
            reasons: ["streaming_unavailable"],
            messages: ["Host has no chunked HTTP capability."],
          },
        ],
      },
    },
  },
  {
    id: "routing_rejection_carries_failure_code_and_reason_codes",
    routes: { candidates: [cloud("p_run_only", { streaming: "run_only" })] },
    expect: {
      rejectsWith: {
        errorClass: "CapabilityMismatch",
        failureCode: "capability_mismatch",
        rejectedProviders: [{ providerId: "p_run_only", reasons: ["streaming_not_supported"] }],
      },
    },
  },
  {
    id: "privacy_constraint_enforced_on_stream_routes",
    routes: { candidates: [cloud("p_cloud_streaming")], constraints: { privacy: "local_required" } },
    expect: {
      rejectsWith: {
        errorClass: "CapabilityMismatch",
        failureCode: "capability_mismatch",
        rejectedProviders: [{ providerId: "p_cloud_streaming", reasons: ["privacy_constraint"] }],
      },
    },
  },
  {
    id: "offline_host_with_cloud_stream_provider_reports_offline",
    routes: { offline: true, candidates: [cloud("p_cloud_streaming")] },
    expect: { rejectsWith: { errorClass: "Offline", failureCode: "offline" } },
  },
  {
    id: "offline_host_with_local_stream_provider_reports_capability_mismatch",
    routes: { offline: true, candidates: [cloud("p_local_run_only", { locality: "local", streaming: "run_only" })] },
    expect: { rejectsWith: { errorClass: "CapabilityMismatch", failureCode: "capability_mismatch" } },
  },
  {
    id: "run_and_stream_resolve_different_chains",
    routes: { candidates: [cloud("a_run_only", { streaming: "run_only" }), cloud("b_streaming")] },
    expect: {
      runSelectedProviderId: "a_run_only",
      streamSelectedProviderId: "b_streaming",
      providerCallCounts: { a_run_only: 0 },
    },
  },
  {
    id: "pre_commit_failure_falls_back",
    chain: ["p1_failing", "p2_healthy"],
    acts: [begin, says("p1_failing", fails("connect")), says("p2_healthy", done("recovered"))],
    expect: {
      terminalCount: 1,
      terminal: { outcome: "completed", finalText: "recovered" },
      providerCallCounts: { p1_failing: 1, p2_healthy: 1 },
    },
  },
  {
    id: "post_commit_failure_never_falls_back",
    chain: ["p1", "p2_healthy"],
    acts: [begin, says("p1", text("partial "), fails("reset")), says("p2_healthy", text("never"), done("never"))],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "error", partialText: "partial " },
      providerCallCounts: { p2_healthy: 0 },
    },
  },
  {
    id: "stream_ending_without_terminal_is_a_provider_fault",
    chain: ["p1"],
    acts: [begin, says("p1", text("a"), cut)],
    expect: {
      eventTypes: ["content_delta", "terminal"],
      terminalCount: 1,
      terminal: { outcome: "error", partialText: "a" },
    },
  },
  {
    id: "provider_emitted_failure_behaves_like_a_throw",
    chain: ["p1", "p2_healthy"],
    acts: [begin, says("p1", fails("rate_limited")), says("p2_healthy", done("recovered"))],
    expect: {
      terminalCount: 1,
      terminal: { outcome: "completed", finalText: "recovered" },
      providerCallCounts: { p1: 1, p2_healthy: 1 },
    },
  },
  {
    id: "duplicate_terminal_suppressed",
    chain: ["p1"],
    acts: [begin, says("p1", text("first"), done("first"), done("second")), says("p1", done("second"))],
    expect: { terminalCount: 1, terminal: { outcome: "completed", finalText: "first" } },
  },
  {
    id: "empty_snapshot_retracts_delivered_content",
    chain: ["p1"],
    acts: [begin, says("p1", text("rejected text"), snapshot("")), says("p1", fails("content_policy"))],
    expect: {
      eventTypes: ["content_delta", "content_snapshot", "terminal"],
      contentTexts: ["rejected text", ""],
      terminalCount: 1,
      terminal: { outcome: "error", partialText: "", errorClass: "CapabilityMismatch" },
    },
  },
  {
    id: "telemetry_sequence_for_a_normal_completion",
    chain: ["p1"],
    acts: [begin, says("p1", text("Hello"), done("Hello"))],
    expect: {
      telemetryTypes: ["route_decided", "stream_attempt_started", "stream_attempt_succeeded", "stream_completed"],
    },
  },
  {
    id: "stream_cancelled_telemetry_carries_no_raw_error_detail",
    chain: ["p1"],
    acts: [begin, says("p1", text("one")), cancel("secret user text")],
    expect: {
      telemetryTypesContain: ["stream_cancelled"],
      telemetryForbiddenPayloadKeys: ["message", "error", "errorClass", "reason", "partialText", "finalText"],
      telemetryForbiddenPayloadValues: ["secret user text", "one"],
    },
  },
  {
    id: "stream_failed_telemetry_carries_a_stable_message",
    chain: ["p1"],
    acts: [
      begin,
      says("p1", text("partial ")),
      says("p1", fails("overloaded", { message: "upstream said: sk-secret leaked" })),
    ],
    expect: {
      telemetryTypesContain: ["stream_failed"],
      telemetryStableMessageEvents: ["stream_failed"],
      telemetryForbiddenPayloadValues: ["upstream said: sk-secret leaked", "partial "],
    },
  },
  {
    id: "events_are_single_use",
    chain: ["p1"],
    acts: [begin, says("p1", text("a"), stopped("stop"))],
    expect: { noReplayOnSecondIteration: true },
  },
];
