// When the object of a run wakes by itself.
import { expect, test } from "vitest";
import { liveAlarm, retellAt, retentionTimes } from "../../durable-objects/retention.ts";
import { acceptedRow } from "../../durable-objects/run-fold.ts";
import { checkConfig } from "../../src/run/settings.ts";
import { planBody } from "./planned.ts";

const settings = checkConfig({
  targets: [{ id: "demo", adapter: "demo", clocks: { totalMs: 45_000 } }],
  routes: { default: ["demo"] },
  limits: { retentionEventsMs: 60_000, retentionOutcomeMs: 86_400_000 },
});
if (!settings.ok) throw new Error("the configuration is valid");
const planned = await planBody({ schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "x" }, settings.config);
if (!planned.ok) throw new Error("the request is valid");
const live = acceptedRow(planned.value, 1_000_000);

test("R-DUR-7 a live run is looked after within 30 s, and when its total clock runs out", () => {
  expect(liveAlarm(live, 1_000_000)).toBe(1_030_000);
  expect(liveAlarm(live, 1_030_000)).toBe(1_045_000);
});

test("R-CHAT-1 a chat that does not answer is asked again after 30 s, then in growing pauses of an hour at most, until all goes", () => {
  const sealed = { ...live, sealedAt: 2_000_000 };
  const [, wipeAt] = retentionTimes(sealed);
  const pauses: number[] = [];
  let now = 2_000_000;
  while (now < wipeAt) {
    const next = retellAt(sealed, now);
    pauses.push(next - now);
    now = next;
  }
  expect(pauses.slice(0, 8)).toEqual([30, 30, 60, 120, 240, 480, 960, 1920].map((seconds) => seconds * 1000));
  expect(Math.max(...pauses)).toBe(3_600_000);
  expect(now).toBe(wipeAt);
});
