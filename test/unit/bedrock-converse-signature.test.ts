// The signature of a Bedrock request, held against an independent one, which is held against the published examples.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { bedrockConverseRequest } from "../../src/providers/bedrock-converse-request.ts";
import { signBedrockRequest } from "../../src/providers/bedrock-converse-signature.ts";
import { signatureOf } from "../support/sigv4.ts";

const REGION_HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com";
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const request: StartRequest = {
  schemaVersion: "1.0",
  task: { kind: "text_to_text" },
  messages: [{ role: "user", content: "Grüße, 世界 🎉" }],
};

async function signed(key: string | undefined, fields: Partial<Target> = {}) {
  const target: Target = {
    id: "t",
    adapter: "bedrock-converse",
    baseUrl: REGION_HOST,
    model: "anthropic.claude-3-haiku-20240307-v1:0",
    keyVar: "AWS_SECRET",
    ...fields,
  };
  const plain = bedrockConverseRequest(request, target, key);
  return { plain, result: await signBedrockRequest(plain, target, key) };
}

const authorization = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/;

/** What the independent signer makes of a request that was signed. */
function expectSigned({ plain, result }: Awaited<ReturnType<typeof signed>>, region: string): void {
  if (!("headers" in result)) return expect.fail("not signed");
  const { headers } = result;
  expect({ ...result, headers: {} }).toEqual({ ...plain, headers: {} });
  const url = new URL(result.url);
  const [, credential, names = "", signature] = authorization.exec(headers["authorization"] ?? "") ?? [];
  const time = headers["x-amz-date"] ?? "";
  expect(time).toMatch(/^\d{8}T\d{6}Z$/);
  expect(credential).toBe(`AKIDEXAMPLE/${time.slice(0, 8)}/${region}/bedrock/aws4_request`);
  const covered = names.split(";");
  expect(covered).toContain("host");
  const held = covered.map((name) => [name, name === "host" ? url.host : (headers[name] ?? "")] as const);
  expect(signature).toBe(
    signatureOf(
      {
        method: "POST",
        path: url.pathname,
        query: [...url.searchParams],
        headers: Object.fromEntries(held),
        body: result.body,
      },
      { ...credentials, region, service: "bedrock" },
    ),
  );
}

describe("R-PROV-12 the independent signer gives the published signatures", () => {
  const scope = { ...credentials, region: "us-east-1" };
  const headers = { host: "example.amazonaws.com", "x-amz-date": "20150830T123600Z" };
  test.each([
    ["GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
    ["POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  ])("%s of nothing", (method, signature) => {
    expect(signatureOf({ method, path: "/", headers, body: "" }, { ...scope, service: "service" })).toBe(signature);
  });
  test("a query and a content type", () => {
    const signature = signatureOf(
      {
        method: "GET",
        path: "/",
        query: [
          ["Action", "ListUsers"],
          ["Version", "2010-05-08"],
        ],
        headers: {
          "content-type": "application/x-www-form-urlencoded; charset=utf-8",
          host: "iam.amazonaws.com",
          "x-amz-date": "20150830T123600Z",
        },
        body: "",
      },
      { ...scope, service: "iam" },
    );
    expect(signature).toBe("5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  });
});

describe("R-PROV-12 a request with credentials is signed", () => {
  test.each<[string, Record<string, string>, Partial<Target>, string]>([
    ["region from the host", {}, {}, "eu-west-1"],
    ["region from the secret", { region: "us-west-2" }, {}, "us-west-2"],
    ["a session token", { sessionToken: "FwoGZXIvYXdzE//+Token==" }, {}, "eu-west-1"],
    ["a FIPS host", {}, { baseUrl: "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com" }, "us-gov-west-1"],
    [
      "a private endpoint",
      {},
      { baseUrl: "https://vpce-1.bedrock-runtime.ap-south-1.vpce.amazonaws.com" },
      "ap-south-1",
    ],
    ["a plain host and port", { region: "eu-west-1" }, { baseUrl: "http://127.0.0.1:8080/base" }, "eu-west-1"],
    ["an ARN as the model", {}, { model: "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.x(1)*'!" }, "eu-west-1"],
    ["a query", {}, { query: { b: "2 3", a: "ü&=" } }, "eu-west-1"],
    ["configured headers", {}, { headers: { "X-Amzn-Bedrock-Trace": "ENABLED", "X-Title": "a  b" } }, "eu-west-1"],
  ])("%s", async (_name, more, fields, region) => {
    const outcome = await signed(JSON.stringify({ ...credentials, ...more }), fields);
    expectSigned(outcome, region);
    if (!("headers" in outcome.result)) return;
    expect(outcome.result.headers["x-amz-security-token"]).toBe(more["sessionToken"]);
    expect(JSON.stringify(outcome.result)).not.toContain(credentials.secretAccessKey);
    expect(outcome.plain.headers).not.toHaveProperty("authorization");
  });
  test("white space around the JSON does not matter", async () => {
    expectSigned(await signed(`\n ${JSON.stringify(credentials)}\n`), "eu-west-1");
  });
});

describe("R-PROV-12 a request without credentials is not", () => {
  test.each([undefined, "ABSKQmVkcm9ja0FQSUtleQ=="])("key %s", async (key) => {
    const { plain, result } = await signed(key);
    expect(result).toBe(plain);
    expect(plain.headers["authorization"]).toBe(key === undefined ? undefined : `Bearer ${key}`);
  });
});

describe("R-PROV-12 a secret that looks like JSON and is no credentials is the failure auth, and is not repeated", () => {
  const id = "AKIDEXAMPLE";
  test.each<[string, string]>([
    ["half of it", JSON.stringify(credentials).slice(0, -1)],
    ["nothing", "{}"],
    ["only the id", JSON.stringify({ accessKeyId: id })],
    ["an empty secret", JSON.stringify({ accessKeyId: id, secretAccessKey: "" })],
    ["a secret of another type", JSON.stringify({ accessKeyId: id, secretAccessKey: 7 })],
    ["an id that no header can hold", JSON.stringify({ ...credentials, accessKeyId: "a\nb" })],
    ["a token of another type", JSON.stringify({ ...credentials, sessionToken: {} })],
    ["an empty region", JSON.stringify({ ...credentials, region: "" })],
  ])("%s", async (_name, key) => {
    const { plain, result } = await signed(key);
    expect(result).toEqual({
      failureClass: "auth",
      message:
        "The secret AWS_SECRET is no JSON object of accessKeyId, secretAccessKey and, optionally, sessionToken and region.",
    });
    expect(plain.headers).not.toHaveProperty("authorization");
  });
  test("no region anywhere", async () => {
    const { result } = await signed(JSON.stringify(credentials), { baseUrl: "http://127.0.0.1:8080" });
    expect(result).toEqual({
      failureClass: "auth",
      message: "The secret AWS_SECRET names no region, and neither does the target's address.",
    });
  });
});
