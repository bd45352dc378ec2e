// The scripted provider on a fixed port, for trying the product by hand: `node test/support/fault-provider/cli.ts --port 9099`.
// It prints what every path does, how to point the product at it, and one line per call. It never leaves loopback.
import { parseArgs } from "node:util";
import { DEMO_PATHS, demoConfig } from "./demo-paths.ts";
import { startFaultProvider } from "./server.ts";
import type { FaultProvider, ProviderCall } from "./server.ts";

const DEFAULT_PORT = 9099;

const port = parsePort();
if (port === undefined) {
  console.error("usage: node test/support/fault-provider/cli.ts [--port 0..65535]");
  process.exitCode = 2;
} else {
  await serve(port);
}

function parsePort(): number | undefined {
  try {
    const { values } = parseArgs({ options: { port: { type: "string", default: String(DEFAULT_PORT) } } });
    return /^\d{1,5}$/.test(values.port) && Number(values.port) < 65_536 ? Number(values.port) : undefined;
  } catch {
    return undefined;
  }
}

async function serve(wanted: number): Promise<void> {
  const provider = await startFaultProvider({ port: wanted, onCall: (call) => void report(call) });
  for (const { path, script } of DEMO_PATHS) provider.on(path, script);
  printUsage(provider);
  process.once("SIGINT", () => {
    provider.stop().catch((fault: unknown) => {
      console.error(fault);
      process.exitCode = 1;
    });
  });
}

function printUsage(provider: FaultProvider): void {
  console.log(`fault provider on ${provider.origin}; Ctrl-C ends it\n`);
  const width = Math.max(...DEMO_PATHS.map(({ path }) => path.length));
  for (const { path, text } of DEMO_PATHS) console.log(`POST ${path.padEnd(width)}  ${text}`);
  console.log(
    `\nPoint the product at it:\n\nnpx wrangler dev --var CONFIG:'${JSON.stringify(demoConfig(provider.origin))}'\n`,
  );
  console.log(
    'Then name a target ("targets": ["openai-cut"]) or a route: every word after the format is a route that falls back',
  );
  console.log(
    'from the OpenAI target to anthropic-healthy, "chain" meets three failures first, "default" is the demo target.\n',
  );
}

async function report(call: ProviderCall): Promise<void> {
  const how = await call.answered;
  const seconds = ((performance.now() - call.at) / 1_000).toFixed(3);
  console.log(
    `${call.method} ${call.path}: ${describe(how, call)} after ${seconds} s, ${call.bytesWritten} bytes sent`,
  );
}

function describe(how: Awaited<ProviderCall["answered"]>, call: ProviderCall): string {
  switch (how) {
    case "played":
      return "sent whole";
    case "cut":
      return call.closing?.how === "local" ? "ended with this server" : `closed by the caller (${call.closing?.how})`;
    case "fin":
    case "rst":
      return `ended by its script (${how})`;
  }
}
