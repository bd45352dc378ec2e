// HTTP tools inside workerd, against scripted servers: what goes out, and what becomes of whatever comes back.
import { createHmac } from "node:crypto";
import { expect, inject, test } from "vitest";
import { runTool } from "../../durable-objects/tools/run-tool.ts";
import { webhookKey, webhookSignature } from "../../durable-objects/tools/webhook-signature.ts";
import { call, closed, envWith, failure, httpTool, placeOf, RUN_ID, seen } from "./tools.ts";

const UNKNOWN = "whether it took effect is not known.";
const BROKEN = `The tool's server could not be reached, or broke off; ${UNKNOWN}`;

/** A path of its own, so that a test sees its own calls only. */
const signed = (name: string) => httpTool(name, { source: { type: "http", url: urlOf(name), keyVar: "SHOP_KEY" } });
const urlOf = (name: string): string => `${inject("toolOrigin")}/tool/${name}`;

test("R-TOOL-10 the input goes out as JSON, named by run and call", async () => {
  expect(await call(httpTool("json"), {}, { text: "ü", list: [1, null] })).toEqual({ output: { sum: 3 } });
  const [request] = (await seen("/tool/json")).slice(-1);
  expect(request?.method).toBe("POST");
  expect(request?.body).toBe('{"text":"ü","list":[1,null]}');
  expect(request?.headers).toMatchObject({
    "content-type": "application/json",
    "x-run-id": RUN_ID,
    "idempotency-key": `${RUN_ID}/call_1`,
    "webhook-id": `${RUN_ID}/call_1`,
  });
  expect(request?.headers).not.toHaveProperty("webhook-signature");
});

test.each([
  ["that a header cannot carry", "a b\nc/ü", "a%20b%0Ac%2F%C3%BC"],
  ["that is no text", "\ud800", "%EF%BF%BD"],
  ["as long as may be", "x".repeat(256), "x".repeat(256)],
])("R-TOOL-10 an id %s goes out escaped", async (_, toolCallId, expected) => {
  await runTool(httpTool("json"), { toolCallId, input: {} }, placeOf());
  expect((await seen("/tool/json")).at(-1)?.headers["idempotency-key"]).toBe(`${RUN_ID}/${expected}`);
});

test("R-TOOL-10 an id that is too long goes out as its hash, the same for the same id", async () => {
  const keys: (string | undefined)[] = [];
  for (const toolCallId of ["x".repeat(257), "x".repeat(257), "y".repeat(257)]) {
    await runTool(httpTool("json"), { toolCallId, input: {} }, placeOf());
    keys.push((await seen("/tool/json")).at(-1)?.headers["idempotency-key"]);
  }
  expect(keys[0]).toMatch(new RegExp(`^${RUN_ID}/[0-9a-f]{64}$`));
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test.each([
  [
    "a secret as the standard writes it",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64"),
  ],
  ["any other secret", "correct horse battery staple", Buffer.from("correct horse battery staple")],
  ["a secret that was pasted with a line end", "correct horse\n", Buffer.from("correct horse")],
])("R-TOOL-11 a request is signed with %s", async (_, secret, key) => {
  await call(signed("created"), { env: envWith({ SHOP_KEY: secret }) }, { order: 7 });
  const request = (await seen("/tool/created")).at(-1);
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = request?.headers ?? {};
  expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${request?.body}`).digest("base64");
  expect(signature).toBe(`v1,${expected}`);
});

test("R-TOOL-11 a signature is the one that Standard Webhooks publishes for its example", async () => {
  const key = webhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") ?? new Uint8Array();
  const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
  expect(await webhookSignature(key, message)).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test.each([
  ["is not set", {}, "The secret SHOP_KEY is not set on this server."],
  ["is empty", { SHOP_KEY: " \n" }, "The secret SHOP_KEY is not set on this server."],
  ["is no base64", { SHOP_KEY: "whsec_***" }, "The secret SHOP_KEY is not base64 after its prefix."],
  ["is a prefix alone", { SHOP_KEY: "whsec_" }, "The secret SHOP_KEY is not base64 after its prefix."],
])("R-TOOL-11 nothing is sent when the secret %s", async (_, secrets, error) => {
  expect(await call(signed("untouched"), { env: envWith(secrets) })).toEqual(failure(error));
  expect(await seen("/tool/untouched")).toEqual([]);
});

test.each([
  ["json", { output: { sum: 3 } }],
  ["created", { output: { id: 7 } }],
  ["text", { output: "three" }],
  ["untyped", { output: 42 }],
  ["empty", { output: { success: true, data: null } }],
  ["blank", { output: { success: true, data: null } }],
  ["broken-utf8", { output: "a\ufffd\ufffd(" }],
  ["html", failure("The tool answered with an HTML page instead of JSON.")],
  ["hidden-html", failure("The tool answered with an HTML page instead of JSON.")],
  ["refusal", failure("The tool answered HTTP 422: no such order")],
  ["crash", failure("The tool answered HTTP 500.")],
  ["crash-json", failure("The tool answered HTTP 503.")],
  ["redirect", failure("The tool answered with a redirect (HTTP 307), which is not followed.")],
  ["broken-json", failure("The tool's answer says that it is JSON, and is not.")],
])("R-TOOL-12 the answer %s becomes a result", async (name, expected) => {
  expect(await call(httpTool(name))).toEqual(expected);
});

test("R-TOOL-21 what a tool says never holds its secret, and its error no address", async () => {
  const env = envWith({ SHOP_KEY: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
  const told = (name: string, maxOutputBytes = 65_536) => call(signed(name), { env, maxOutputBytes });
  expect(await told("leaks")).toEqual({ output: { note: "key ***", "***": ["a***b", 1] } });
  expect(await told("leaks-text")).toEqual({ output: "key ***" });
  expect(await told("leaks-error")).toEqual(failure("The tool answered HTTP 422: no way to *** (***, ***) with ***"));
  // However the limit falls on a secret.
  for (const limit of [70, 80, 90, 100, 110, 120, 400, 401]) {
    expect((await told("leaks-cut", limit)).output).toMatch(/^key: \**(wh?s?)?\n\[cut: longer than \d+ bytes\]$/);
  }
});

test.each(["reset", "reset-body", "cut-body", "no-http"])(
  "R-TOOL-13 R-TOOL-21 a broken answer (%s) is an error",
  async (name) => {
    expect(await call(httpTool(name))).toEqual(failure(BROKEN));
  },
);

test("R-TOOL-13 a server that is not there is an error", async () => {
  const source = { type: "http", url: "http://127.0.0.1:9/" } as const;
  expect(await call(httpTool("", { source }))).toEqual(failure(BROKEN));
});

test.each(["hang", "hang-body"])(
  "R-TOOL-13 a tool that is silent (%s) ends at its time, and its connection with it",
  async (name) => {
    expect(await call(httpTool(name, { timeoutMs: 150 }))).toEqual(
      failure(`The tool did not answer within 150 ms; ${UNKNOWN}`),
    );
    expect(await closed(`/tool/${name}`)).toMatch(/^(fin|rst)$/);
  },
);

test("R-TOOL-13 a call ends with its run", async () => {
  const run = new AbortController();
  const result = call(httpTool("hang"), { signal: run.signal });
  run.abort();
  expect(await result).toEqual(failure(`The run ended while this tool ran; ${UNKNOWN}`));
  expect(await call(httpTool("untouched"), { signal: run.signal })).toEqual(
    failure("The run ended before this tool was called."),
  );
  expect(await seen("/tool/untouched")).toEqual([]);
});

test("R-TOOL-14 output over the limit is cut with a mark, and the rest is never read", async () => {
  const { output, isError } = await call(httpTool("huge"), { maxOutputBytes: 1001 });
  expect(isError).toBeUndefined();
  expect(output).toBe(`${"é".repeat(485)}\n[cut: longer than 1001 bytes]`);
  expect(await closed("/tool/huge")).toMatch(/^(fin|rst)$/);
});

test("R-TOOL-14 JSON over the limit is given as the beginning of its text", async () => {
  const { output } = await call(httpTool("huge-json"), { maxOutputBytes: 64 });
  expect(output).toBe(`["${"a".repeat(34)}\n[cut: longer than 64 bytes]`);
});
