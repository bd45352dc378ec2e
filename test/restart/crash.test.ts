// workerd is killed again and again at random moments of several runs, while readers come, leave and come back. All of them
// end with the same numbers, one terminal and the same text. 10 kills, 100 with `--mode crash`, or CRASH_KILLS.
import { afterAll, beforeAll, expect, test } from "vitest";
import { draws } from "../crash/draws.ts";
import { allPolicies, type Policies } from "../crash/moments.ts";
import { liveThrough, MAX_RECOVERIES, scriptPaths, type Ended } from "../crash/runs.ts";
import { startWorkerd, type WorkerdServer } from "../crash/workerd-server.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { scriptedConfig } from "../support/scripted-targets.ts";

const kills = Number(process.env["CRASH_KILLS"] ?? (process.env["MODE"] === "crash" ? 100 : 10));
const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1_000_000));

let provider: FaultProvider;
let server: WorkerdServer;

beforeAll(async () => {
  console.log(`crash test of ${kills} kills: TEST_SEED=${seed}`);
  provider = await startFaultProvider();
  scriptPaths(provider);
  // One slot per lane: a run that kept its slot over a crash would stop the next one.
  const limits = { maxActiveRuns: allPolicies.length, maxRecoveries: MAX_RECOVERIES, heartbeatMs: 500 };
  server = await startWorkerd(scriptedConfig(provider.origin, { limits }));
});
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

test(
  `R-LIFE-1 R-LIFE-2 R-LIFE-3 R-DUR-4 R-DUR-5 R-DUR-7 ${kills} kills at random moments lose nothing`,
  { timeout: 60_000 + kills * 5_000 },
  async () => {
    const moment = draws(seed);
    const ended: Ended[] = [];
    let killing = true;
    const lane = async (policies: Policies, index: number): Promise<void> => {
      const draw = draws(seed + 1 + index);
      let last = false;
      for (let n = 0; !last; n++) {
        last = !killing;
        const run = await liveThrough(server, provider, `run-${index}-${n}`, policies, draw);
        ended.push(run);
        // Once nothing is killed any more, a run is as if nothing had been.
        if (last) expect(run).toMatchObject({ completed: true, recoveries: 0 });
      }
    };
    const killer = async (): Promise<void> => {
      try {
        for (let kill = 0; kill < kills; kill++) {
          // Every fourth life is so short that the recovery itself is hit.
          const life = moment(0, 3) === 0 ? moment(1, 80) : moment(100, 3000);
          await new Promise((resolve) => setTimeout(resolve, life));
          if (!killing) return;
          await server.kill();
          await server.start();
        }
      } finally {
        killing = false;
      }
    };
    try {
      await Promise.all([killer(), ...allPolicies.map(lane)]);
    } finally {
      killing = false;
    }

    // What ended early has seen many more restarts since.
    for (const { url, log, outcome } of ended) {
      expect(await (await fetch(`${url}/events`)).text()).toBe(log);
      expect(await (await fetch(`${url}/outcome`)).text()).toBe(outcome);
    }
    const sum = (value: (run: Ended) => number) => ended.reduce((total, run) => total + value(run), 0);
    const completed = sum((run) => Number(run.completed));
    console.log(
      `crash test, TEST_SEED=${seed}: ${server.kills()} kills, ${ended.length} runs: ${completed} completed, ` +
        `${ended.length - completed} interrupted, ${sum((run) => run.recoveries)} recoveries, ` +
        `${sum((run) => run.ranges)} released ranges of ${sum((run) => run.released)} numbers in all, ` +
        `${provider.calls().length} provider calls`,
    );
    expect(server.kills()).toBe(kills);
    expect(ended.length - completed).toBeGreaterThan(0);
    expect(sum((run) => run.recoveries)).toBeGreaterThan(0);
    expect(sum((run) => run.ranges)).toBeGreaterThan(0);
  },
);
