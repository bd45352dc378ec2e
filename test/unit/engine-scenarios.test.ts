// IndeRun's engine conformance, scenario by scenario, on the pure machine and planner. Compares content and terminal events only.
import { expect, test } from "vitest";
import { begin, charter, cut, done, drive, fails, says, text, type Act } from "./scenarios/drive.ts";
import { observedAs } from "./scenarios/expectation.ts";
import { observe } from "./scenarios/observe.ts";
import { scenarios, type Scenario } from "./scenarios/table.ts";

/** The clauses a scenario bears on, by its group. */
const clauses: Record<string, string> = {
  deltas_then_completed: "R-LOG-1 R-LOG-2",
  snapshot_replaces_cumulative_text: "R-OUT-3",
  completed_carries_finish_reason_and_usage: "R-OUT-4",
  completed_omits_finish_reason_when_absent: "R-OUT-4",
  handle_started_at_is_unix_epoch_millis: "R-OUT-4",
  terminal_error_carries_error_class: "R-FALL-9",
  all_providers_fail_pre_commit_yields_single_error: "R-FALL-4",
  cancelled_carries_partial_text_and_reason: "R-CANCEL-1",
  no_events_are_delivered_after_the_terminal: "R-LOG-2",
  cancel_before_first_attempt_forecloses_every_provider: "R-CANCEL-3",
  cancel_during_emit_stops_further_deltas: "R-CANCEL-1",
  cancel_after_terminal_is_a_no_op: "R-CANCEL-1",
  concurrent_cancels_yield_one_outcome_first_reason_wins: "R-CANCEL-1",
  cancel_during_pre_commit_attempt_forecloses_next_route: "R-CANCEL-3",
  cancel_unblocks_a_provider_waiting_for_output: "R-CANCEL-3",
  no_streaming_capable_provider_rejects_with_run_id: "R-START-8",
  declared_streaming_without_implementation_rejected: "R-START-8",
  dynamic_capability_revocation_rejected_with_reason: "R-START-8",
  routing_rejection_carries_failure_code_and_reason_codes: "R-START-8",
  privacy_constraint_enforced_on_stream_routes: "R-START-8",
  offline_host_with_cloud_stream_provider_reports_offline: "R-START-8",
  offline_host_with_local_stream_provider_reports_capability_mismatch: "R-START-8",
  run_and_stream_resolve_different_chains: "R-START-8",
  pre_commit_failure_falls_back: "R-FALL-2",
  post_commit_failure_never_falls_back: "R-FALL-5",
  stream_ending_without_terminal_is_a_provider_fault: "R-FALL-5",
  provider_emitted_failure_behaves_like_a_throw: "R-FALL-2",
  duplicate_terminal_suppressed: "R-LOG-2",
  empty_snapshot_retracts_delivered_content: "R-FALL-8",
  telemetry_sequence_for_a_normal_completion: "R-DESC-2",
  stream_cancelled_telemetry_carries_no_raw_error_detail: "R-DESC-2",
  stream_failed_telemetry_carries_a_stable_message: "R-DESC-2",
  events_are_single_use: "R-LOG-2",
};

const titled = scenarios.map((scenario): [string, Scenario] => [`${clauses[scenario.id]} ${scenario.id}`, scenario]);

test.each(titled)("%s", async (_title, scenario) => {
  const seen = await observe(scenario);
  expect(observedAs(scenario.expect, seen)).toEqual(scenario.expect);
});

test("R-LOG-2 has every scenario once and its clause", () => {
  expect(scenarios.length).toBe(33);
  expect(scenarios.map(({ id }) => id).toSorted()).toEqual(Object.keys(clauses).toSorted());
});

test("R-LOG-2 the comparison itself refuses what differs", async () => {
  const [first] = scenarios;
  if (first === undefined) throw new Error("no scenarios");
  const seen = await observe(first);
  for (const wrong of [
    { eventTypes: ["terminal"] },
    { terminal: { outcome: "completed", finalText: "other" } },
    { terminal: { outcome: "completed", reason: "none was given" } },
    { rejectsWith: { errorClass: "Offline" } },
    { telemetryTypesContain: ["stream_failed"] },
    { telemetryForbiddenPayloadValues: ["p1"] },
    { telemetryForbiddenPayloadKeys: ["providerId"] },
    { telemetryStableMessageEvents: ["stream_failed"] },
    { providerCallCounts: { p1: 2 } },
    { providerInterrupted: true },
  ]) {
    expect(observedAs(wrong, seen)).not.toEqual(wrong);
  }
});

/** The words of IndeRun's adapters for a thrown error, and the failure classes that our adapters report for it. */
const thrown: [string, Parameters<typeof fails>[0][]][] = [
  ["RateLimited", ["rate_limited", "quota"]],
  ["AuthError", ["auth", "permission"]],
  ["CapabilityMismatch", ["content_policy", "model_not_found"]],
  ["Timeout", ["timeout_headers", "timeout_ttft", "timeout_idle", "timeout_progress", "timeout_total"]],
  [
    "Unavailable",
    [
      "overloaded",
      "upstream_5xx",
      "bad_gateway_page",
      "connect",
      "reset",
      "malformed",
      "protocol",
      "unknown",
      "interrupted",
    ],
  ],
  ["Internal", ["invalid_request", "context_length", "truncated"]],
];

test.each(
  thrown.flatMap(([errorClass, classes]) => classes.map((failureClass) => [failureClass, errorClass] as const)),
)("R-FALL-9 R-FALL-5 %s after the commit point ends the run as %s", (failureClass, errorClass) => {
  const ending: Act = says("p1", text("so far"), failureClass === "truncated" ? cut : fails(failureClass));
  const { outcome, calls } = drive(charter(["p1", "p2"]), [begin, ending, says("p2", done("never"))]);
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "so far",
    error: { errorClass, providerId: "p1", details: { failureClass } },
  });
  expect(calls).toEqual({ p1: 1, p2: 0 });
});
