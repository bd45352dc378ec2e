// Runs against Bedrock's binary format: what is sent over the socket, signed, and what comes of streams, exceptions, refusals
// and secrets that are none. Every byte is scripted; every outcome is read over the product's own HTTP.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventsOf, post, shownText, startBody } from "../support/api.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast } from "../support/holdfast-server.ts";
import {
  BEDROCK_STREAM_TYPE,
  bedrockError,
  bedrockException,
  bedrockMetadata,
  bedrockStart,
  bedrockStop,
  bedrockText,
} from "../support/provider-bytes/bedrock-converse.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { signatureOf } from "../support/sigv4.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY" };
const PATH = "/bedrock/model/anthropic.claude-v1%3A0/converse-stream";

let provider: FaultProvider;
let server: Holdfast;

beforeAll(async () => {
  provider = await startFaultProvider();
  const target = (id: string, keyVar: string) => ({
    id,
    adapter: "bedrock-converse",
    baseUrl: `${provider.origin}/bedrock`,
    model: "anthropic.claude-v1:0",
    keyVar,
  });
  server = await startBare({
    config: {
      targets: [target("signed", "AWS_KEYS"), target("bearer", "AWS_KEY"), target("broken", "AWS_BROKEN")],
      routes: { default: ["broken", "signed"] },
    },
    vars: {
      AWS_KEYS: JSON.stringify({ ...credentials, region: "eu-west-1" }),
      AWS_KEY: "ABSK-0123456789",
      AWS_BROKEN: JSON.stringify({ secretAccessKey: credentials.secretAccessKey }),
    },
  });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await server.stop();
  await provider.stop();
});

async function run(fields: Record<string, unknown>) {
  const response = await post(`${server.origin}/v1/runs`, startBody(fields), { accept: "text/event-stream" });
  const body = await response.text();
  const events = eventsOf(body);
  expect(events.at(-1)?.type).toBe("terminal");
  return { body, outcome: events.at(-1)?.payload ?? {}, text: shownText(events) };
}

const answer = [bedrockStart(), bedrockText("Hel"), bedrockText("lo ✓"), bedrockStop(), bedrockMetadata()];

test("R-PROV-12 a signed request is signed as it arrives, and its stream is read", async () => {
  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, answer));
  const { outcome, body } = await run({ targets: ["signed"], prompt: "Grüße" });
  expect(outcome).toMatchObject({
    outcome: "completed",
    finalText: "Hello ✓",
    stopReason: "stop",
    usage: { inputTokens: 12, outputTokens: 7, totalTokens: 19 },
  });
  expect(body).not.toContain(credentials.secretAccessKey);

  const [call] = provider.calls(PATH);
  const [, names = "", signature] =
    /SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(call?.headers["authorization"] ?? "") ?? [];
  const headers = Object.fromEntries(names.split(";").map((name) => [name, call?.headers[name] ?? ""]));
  const sent = { method: "POST", path: PATH, headers, body: call?.body ?? "" };
  expect(signature).toBe(
    signatureOf(sent, { secretAccessKey: credentials.secretAccessKey, region: "eu-west-1", service: "bedrock" }),
  );
});

test("R-PROV-12 an API key is a bearer's", async () => {
  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, answer));
  const { outcome } = await run({ targets: ["bearer"] });
  expect(outcome["outcome"]).toBe("completed");
  expect(provider.calls(PATH)[0]?.headers["authorization"]).toBe("Bearer ABSK-0123456789");
});

test("R-PROV-12 a secret that is no credentials fails the attempt without a request; the chain goes on", async () => {
  const alone = await run({ targets: ["broken"] });
  expect(alone.outcome).toMatchObject({ outcome: "error" });
  expect(alone.body).toContain("The secret AWS_BROKEN is no JSON object of accessKeyId");
  expect(alone.body).not.toContain(credentials.secretAccessKey);
  expect(provider.calls()).toHaveLength(0);

  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, answer));
  const { text, outcome } = await run({});
  expect(text).toBe("Hello ✓");
  expect(outcome).toMatchObject({
    provenance: { fallbackOccurred: true, attempts: [{ targetId: "broken", failureClass: "auth" }, {}] },
  });
});

// B20
test("R-PROV-3 an exception after text ends the run with its own class", async () => {
  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, [bedrockText("Hi"), bedrockException("throttlingException")]));
  const { outcome } = await run({ targets: ["bearer"] });
  expect(outcome).toMatchObject({
    outcome: "error",
    partialText: "Hi",
    error: { errorClass: "RateLimited", details: { failureClass: "rate_limited" } },
  });
});

test("R-PROV-3 a refusal is classed by its header", async () => {
  provider.on(PATH, answerScript(bedrockError(400, "ValidationException", "Input is too long for requested model.")));
  const { outcome, body } = await run({ targets: ["bearer"] });
  expect(outcome).toMatchObject({ error: { details: { failureClass: "context_length" } } });
  expect(body).not.toContain("Input is too long");
});

test("R-PROV-1 a stream that ends before its stop is truncated, one after it is whole", async () => {
  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, answer.slice(0, 3)));
  const cut = await run({ targets: ["bearer"] });
  expect(cut.outcome).toMatchObject({ outcome: "error", error: { details: { failureClass: "truncated" } } });
  provider.on(PATH, streamScript(BEDROCK_STREAM_TYPE, answer.slice(0, 4)));
  const whole = await run({ targets: ["bearer"] });
  expect(whole.outcome).toMatchObject({ outcome: "completed", finalText: "Hello ✓" });
  expect(whole.outcome).not.toHaveProperty("usage");
});
