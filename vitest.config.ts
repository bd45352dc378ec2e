// Five kinds of tests: pure code in Node, objects inside workerd, the whole Worker over sockets, across restarts, and in real clients.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
// The Worker holds the console as it was built.
import "./scripts/build-console.mjs";

/** What is polled for goes through several objects: a busy machine takes longer for it than the second that is the default. */
const patient = { expect: { poll: { timeout: 5000 } }, testTimeout: 60_000 };
/** Projects whose files start a server of their own. */
const server = { ...patient, hookTimeout: 120_000, globalSetup: ["test/support/worker-bundle.setup.ts"] };
/** Files at a time, on any machine: what computes fills two processors; of what mostly waits, three fit, and more would disturb each other. */
const computing = { maxWorkers: 2, sequence: { groupOrder: 0 } };
const waiting = { maxWorkers: 3, sequence: { groupOrder: 1 } };

export default defineConfig({
  test: {
    projects: [
      // Pure code keeps nothing between files: a process of its own for each would cost half of their time.
      {
        test: { name: "unit", include: ["test/unit/**/*.test.ts"], isolate: false, testTimeout: 60_000, ...computing },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: {
          name: "workerd",
          include: ["test/workerd/**/*.test.ts"],
          globalSetup: ["test/workerd/provider.setup.ts", "test/workerd/tools.setup.ts"],
          ...patient,
          ...waiting,
        },
      },
      { test: { name: "http", include: ["test/http/**/*.test.ts"], ...server, ...waiting } },
      { test: { name: "clients", include: ["test/clients/**/*.test.ts"], ...server, ...waiting } },
      { test: { name: "restart", include: ["test/restart/**/*.test.ts"], ...server, ...waiting } },
      { test: { name: "browser", include: ["test/browser/**/*.test.ts"], ...server, ...computing } },
    ],
  },
});
