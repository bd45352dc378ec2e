// Five kinds of tests: pure code in Node, objects inside workerd, the whole Worker over sockets, across restarts, and in real clients.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Projects whose files start a server of their own. */
const server = { testTimeout: 60_000, hookTimeout: 120_000, globalSetup: ["test/support/worker-bundle.setup.ts"] };

export default defineConfig({
  test: {
    // Two files at a time on any machine: most of a server test is waiting, and more of them would disturb each other.
    maxWorkers: 2,
    projects: [
      // Pure code keeps nothing between files: a process of its own for each would cost half of their time.
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], isolate: false, testTimeout: 60_000 } },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: {
          name: "workerd",
          include: ["test/workerd/**/*.test.ts"],
          globalSetup: ["test/workerd/provider.setup.ts", "test/workerd/tools.setup.ts"],
          testTimeout: 60_000,
        },
      },
      { test: { name: "http", include: ["test/http/**/*.test.ts"], ...server } },
      { test: { name: "clients", include: ["test/clients/**/*.test.ts"], ...server } },
      { test: { name: "restart", include: ["test/restart/**/*.test.ts"], ...server } },
      { test: { name: "browser", include: ["test/browser/**/*.test.ts"], ...server } },
    ],
  },
});
