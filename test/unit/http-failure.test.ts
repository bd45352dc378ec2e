// Error answers of real providers and gateways: their class, the wait they ask for, the word that is kept. Never their prose.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FailureClass } from "../../schemas/failure.ts";
import { adapters } from "../../src/providers/index.ts";
import { inBandFailure } from "../../src/providers/http-failure.ts";
import { retryAfter } from "../../src/providers/retry-after.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { anthropicError, anthropicOverloaded } from "../support/provider-bytes/anthropic-messages.ts";
import { bedrockError } from "../support/provider-bytes/bedrock-converse.ts";
import type { Answer } from "../support/provider-bytes/framing.ts";
import { ollamaError } from "../support/provider-bytes/ollama.ts";
import { openAiCompletion, openAiError } from "../support/provider-bytes/openai-chat.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

const failureOf = (format: StreamFormat, { status, headers, body }: Answer) =>
  adapters[format].failure({ status, headers: new Headers(headers), body, now: NOW });

type Row = readonly [what: string, answer: Answer, failureClass: FailureClass, more?: { code?: string; wait?: number }];

const page = (status: number, body: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": "text/html", ...headers },
  body,
});
const json = (status: number, value: unknown, headers: Record<string, string> = {}): Answer =>
  page(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
const html = "<!DOCTYPE html><html><body>Error</body></html>";
const ray = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<center>nginx</center>\r\n</html>";

const openAi: readonly Row[] = [
  ["a wrong key", openAiError(401, "invalid_request_error", "invalid_api_key"), "auth", { code: "invalid_api_key" }],
  [
    "a wrong key, DeepSeek",
    openAiError(401, "authentication_error", "invalid_request_error"),
    "auth",
    { code: "invalid_request_error" },
  ],
  ["no key", json(401, { message: "Unauthorized", request_id: "x" }), "auth"],
  [
    "a blocked country",
    openAiError(403, "request_forbidden", "unsupported_country_region_territory"),
    "permission",
    { code: "unsupported_country_region_territory" },
  ],
  [
    "moderation, OpenRouter",
    json(403, { error: { code: 403, message: "flagged", metadata: { reasons: ["x"] } } }),
    "permission",
  ],
  [
    "a rate limit",
    openAiError(429, "requests", "rate_limit_exceeded", {
      headers: { "retry-after": "20", "retry-after-ms": "19500" },
    }),
    "rate_limited",
    { code: "rate_limit_exceeded", wait: 19_500 },
  ],
  [
    "a token limit, Groq",
    openAiError(429, "tokens", "rate_limit_exceeded", { headers: { "retry-after": "7.66" } }),
    "rate_limited",
    { code: "rate_limit_exceeded", wait: 7660 },
  ],
  ["a quota", openAiError(429, "insufficient_quota", "insufficient_quota"), "quota", { code: "insufficient_quota" }],
  [
    "a billing limit",
    openAiError(400, "invalid_request_error", "billing_hard_limit_reached"),
    "quota",
    { code: "billing_hard_limit_reached" },
  ],
  [
    "a quota, Moonshot",
    openAiError(429, "exceeded_current_quota_error", null),
    "quota",
    { code: "exceeded_current_quota_error" },
  ],
  [
    "an engine overload with 429, Moonshot",
    openAiError(429, "engine_overloaded_error", null),
    "overloaded",
    { code: "engine_overloaded_error" },
  ],
  ["no credit, OpenRouter", json(402, { error: { code: 402, message: "Insufficient credits" } }), "quota"],
  [
    "no balance, DeepSeek",
    openAiError(402, "unknown_error", "invalid_request_error"),
    "quota",
    { code: "invalid_request_error" },
  ],
  [
    "an unknown model",
    openAiError(404, "invalid_request_error", "model_not_found"),
    "model_not_found",
    { code: "model_not_found" },
  ],
  [
    "an unknown model with 400",
    openAiError(400, "invalid_request_error", "model_not_found"),
    "model_not_found",
    { code: "model_not_found" },
  ],
  [
    "an unknown deployment, Azure",
    json(404, { error: { code: "DeploymentNotFound", message: "x" } }),
    "model_not_found",
    { code: "DeploymentNotFound" },
  ],
  ["an unknown path", page(404, "404 page not found", { "content-type": "text/plain" }), "model_not_found"],
  [
    "a long prompt",
    openAiError(400, "invalid_request_error", "context_length_exceeded"),
    "context_length",
    { code: "context_length_exceeded" },
  ],
  [
    "a long prompt, by its text",
    openAiError(400, "BadRequestError", null, { message: "This model's maximum context length is 8192 tokens." }),
    "context_length",
    { code: "BadRequestError" },
  ],
  [
    "a long prompt, llama.cpp",
    json(400, {
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
      },
    }),
    "context_length",
    { code: "exceed_context_size_error" },
  ],
  [
    "a long prompt, an old vLLM",
    json(400, {
      object: "error",
      message: "maximum context length is 4096 tokens",
      type: "BadRequestError",
      code: 400,
    }),
    "context_length",
    { code: "BadRequestError" },
  ],
  ["a body that is too large", page(413, html), "context_length"],
  [
    "a prompt that is blocked, Azure",
    json(400, { error: { code: "content_filter", message: "x", innererror: { content_filter_result: {} } } }),
    "content_policy",
    { code: "content_filter" },
  ],
  [
    "a prompt that breaks the policy",
    openAiError(400, "invalid_request_error", "content_policy_violation"),
    "content_policy",
    { code: "content_policy_violation" },
  ],
  [
    "a wrong parameter",
    openAiError(400, "invalid_request_error", "unsupported_parameter", { param: "seed" }),
    "invalid_request",
    { code: "unsupported_parameter" },
  ],
  [
    "a failed tool use, Groq",
    openAiError(400, "invalid_request_error", "tool_use_failed"),
    "invalid_request",
    { code: "tool_use_failed" },
  ],
  [
    "unknown fields, Mistral",
    json(422, { detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"], msg: "x" }] }),
    "invalid_request",
  ],
  [
    "an error in a list",
    json(400, [{ error: { code: 400, message: "x", status: "INVALID_ARGUMENT" } }]),
    "invalid_request",
    { code: "INVALID_ARGUMENT" },
  ],
  [
    "exhausted, in a list",
    json(429, [{ error: { code: 429, status: "RESOURCE_EXHAUSTED" } }]),
    "rate_limited",
    { code: "RESOURCE_EXHAUSTED" },
  ],
  ["a conflict", openAiError(409, "conflict", null), "overloaded", { code: "conflict" }],
  ["a timeout", openAiError(408, "timeout", null), "timeout_headers", { code: "timeout" }],
  ["a wrong method", page(405, ""), "invalid_request"],
  ["a teapot", page(418, "short and stout"), "invalid_request"],
  ["capacity, Groq", openAiError(498, "capacity", null), "overloaded", { code: "capacity" }],
  ["a server error", openAiError(500, "server_error", null), "upstream_5xx", { code: "server_error" }],
  [
    "a server error that blames the request",
    openAiError(500, "invalid_request_error", null),
    "upstream_5xx",
    { code: "invalid_request_error" },
  ],
  ["a server error without a body", page(500, ""), "upstream_5xx"],
  ["not implemented", page(501, ""), "upstream_5xx"],
  ["a bad gateway's page", page(502, ray), "upstream_5xx"],
  ["a service that is down", page(503, "upstream connect error", { "retry-after": "5" }), "overloaded", { wait: 5000 }],
  [
    "a model that loads, llama.cpp",
    json(503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }),
    "overloaded",
    { code: "unavailable_error" },
  ],
  [
    "no provider, OpenRouter",
    json(503, { error: { code: 503, message: "x" } }, { "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }),
    "overloaded",
    { wait: 30_000 },
  ],
  ["a gateway's timeout", page(504, html), "upstream_5xx"],
  ["an edge error 520", page(520, html), "upstream_5xx"],
  ["an edge error 522", page(522, html), "upstream_5xx"],
  ["an edge error 524", page(524, ""), "upstream_5xx"],
  ["an overload 529", page(529, ""), "overloaded"],
  ["a redirect", page(302, "", { location: "https://elsewhere.example/" }), "protocol"],
  ["a permanent redirect", page(308, html), "protocol"],
  ["a page with 200", page(200, html), "bad_gateway_page"],
  ["a page with 200 after white space", page(200, `\r\n  ${html}`), "bad_gateway_page"],
  // P4, B11
  [
    "an error object with 200",
    json(200, { error: { type: "server_error", message: "x" } }),
    "upstream_5xx",
    { code: "server_error" },
  ],
  ["a quota with 200", json(200, { error: { code: "insufficient_quota" } }), "quota", { code: "insufficient_quota" }],
  [
    "a status inside a 200",
    json(200, { error: { code: 429, message: "x" } }, { "retry-after": "1" }),
    "rate_limited",
    { wait: 1000 },
  ],
  ["an error in a list with 200", json(200, [{ error: { code: 503 } }]), "overloaded"],
  ["a whole answer instead of a stream", openAiCompletion("Hi"), "protocol"],
  ["an empty object with 200", json(200, {}), "protocol"],
  ["an error of null with 200", json(200, { error: null }), "protocol"],
  ["an empty body with 200", page(200, ""), "truncated"],
  ["white space with 200", page(200, " \n "), "truncated"],
  ["half a JSON with 200", page(200, '{"error":{"type":"serv'), "protocol"],
  ["JSON that is no object", json(500, "text"), "upstream_5xx"],
  ["fields of wrong types", json(400, { error: { type: 5, code: {}, message: ["x"] } }), "invalid_request"],
  [
    "words that are no own properties",
    json(400, { error: { type: "constructor", code: "__proto__" } }),
    "invalid_request",
    {},
  ],
  [
    "words in upper case",
    json(400, { error: { code: "MODEL_NOT_FOUND" } }),
    "model_not_found",
    { code: "MODEL_NOT_FOUND" },
  ],
];

const anthropic: readonly Row[] = [
  ["invalid", anthropicError(400, "invalid_request_error"), "invalid_request", { code: "invalid_request_error" }],
  // B14, B78
  [
    "a long prompt",
    anthropicError(400, "invalid_request_error", { message: "prompt is too long: 210000 tokens > 200000 maximum" }),
    "context_length",
    { code: "invalid_request_error" },
  ],
  [
    "no credit",
    anthropicError(400, "invalid_request_error", { message: "Your credit balance is too low to access the API." }),
    "quota",
    { code: "invalid_request_error" },
  ],
  ["a wrong key", anthropicError(401, "authentication_error"), "auth", { code: "authentication_error" }],
  ["billing", anthropicError(402, "billing_error"), "quota", { code: "billing_error" }],
  ["permission", anthropicError(403, "permission_error"), "permission", { code: "permission_error" }],
  ["an unknown model", anthropicError(404, "not_found_error"), "model_not_found", { code: "not_found_error" }],
  ["too large", anthropicError(413, "request_too_large"), "context_length", { code: "request_too_large" }],
  [
    "a rate limit",
    anthropicError(429, "rate_limit_error", { headers: { "retry-after": "42" } }),
    "rate_limited",
    { code: "rate_limit_error", wait: 42_000 },
  ],
  ["a server error", anthropicError(500, "api_error"), "upstream_5xx", { code: "api_error" }],
  ["a timeout", anthropicError(504, "timeout_error"), "upstream_5xx", { code: "timeout_error" }],
  ["overloaded", anthropicOverloaded(), "overloaded", { code: "overloaded_error" }],
  // B65
  ["overloaded with 200", { ...anthropicOverloaded(), status: 200 }, "overloaded", { code: "overloaded_error" }],
  ["a page with 200", page(200, html), "bad_gateway_page"],
];

const ollamaRows: readonly Row[] = [
  ["an unknown model", ollamaError(404, "model 'x' not found"), "model_not_found"],
  ["tools that are not supported", ollamaError(400, "x does not support tools"), "invalid_request"],
  ["a long prompt", ollamaError(400, "the input length exceeds the context length"), "context_length"],
  ["a broken runner", ollamaError(500, "model runner has unexpectedly stopped"), "upstream_5xx"],
  ["busy", ollamaError(503, "server busy, please try again. maximum pending requests exceeded"), "overloaded"],
  ["no access", page(403, ""), "permission"],
  ["a page with 200", page(200, html), "bad_gateway_page"],
];

const bedrock: readonly Row[] = [
  ["a throttle", bedrockError(429, "ThrottlingException"), "rate_limited", { code: "ThrottlingException" }],
  ["a model that loads", bedrockError(429, "ModelNotReadyException"), "overloaded", { code: "ModelNotReadyException" }],
  ["a quota", bedrockError(400, "ServiceQuotaExceededException"), "quota", { code: "ServiceQuotaExceededException" }],
  ["a model's error", bedrockError(424, "ModelErrorException"), "upstream_5xx", { code: "ModelErrorException" }],
  ["a model's timeout", bedrockError(408, "ModelTimeoutException"), "upstream_5xx", { code: "ModelTimeoutException" }],
  ["no access", bedrockError(403, "AccessDeniedException"), "permission", { code: "AccessDeniedException" }],
  ["a wrong id", bedrockError(403, "UnrecognizedClientException"), "auth", { code: "UnrecognizedClientException" }],
  ["an old token", bedrockError(403, "ExpiredTokenException"), "auth", { code: "ExpiredTokenException" }],
  ["a wrong signature", bedrockError(403, "InvalidSignatureException"), "auth", { code: "InvalidSignatureException" }],
  [
    "an unknown model",
    bedrockError(404, "ResourceNotFoundException"),
    "model_not_found",
    { code: "ResourceNotFoundException" },
  ],
  ["invalid", bedrockError(400, "ValidationException"), "invalid_request", { code: "ValidationException" }],
  [
    "a long prompt",
    bedrockError(400, "ValidationException", "Input is too long for requested model."),
    "context_length",
    { code: "ValidationException" },
  ],
  ["its own error", bedrockError(500, "InternalServerException"), "upstream_5xx", { code: "InternalServerException" }],
  ["down", bedrockError(503, "ServiceUnavailableException"), "overloaded", { code: "ServiceUnavailableException" }],
  [
    "a word in the body",
    json(400, { __type: "com.amazon.coral.availability#ThrottlingException", message: "x" }),
    "rate_limited",
    { code: "ThrottlingException" },
  ],
  ["a word that is not known", bedrockError(418, "SomeNewException"), "invalid_request"],
  ["an error with 200", bedrockError(200, "ThrottlingException"), "rate_limited", { code: "ThrottlingException" }],
  ["no word", json(403, { Message: "x" }), "permission"],
  ["a page with 200", page(200, html), "bad_gateway_page"],
  ["a whole answer instead of a stream", json(200, { output: { message: {} }, stopReason: "end_turn" }), "protocol"],
];

const tables: readonly (readonly [StreamFormat, readonly Row[]])[] = [
  ["openai-chat", openAi],
  ["anthropic-messages", anthropic],
  ["ollama", ollamaRows],
  ["bedrock-converse", bedrock],
];

for (const [format, rows] of tables) {
  describe(`R-PROV-3 R-PROV-4 error answers, ${format}`, () => {
    for (const [what, answer, failureClass, { code, wait } = {}] of rows) {
      test(`${answer.status} ${what}: ${failureClass}`, () => {
        const { message, httpStatus, ...failure } = failureOf(format, answer);
        expect(failure).toEqual({
          failureClass,
          ...(code !== undefined && { providerCode: code }),
          ...(wait !== undefined && { retryAfterMs: wait }),
        });
        expect(message).toMatch(/^(The provider|The request|A gateway) [a-zA-Z' ]+( \(HTTP \d{3}\))?\.$/);
        // A numeric code inside a 200 stands for the status that was meant.
        if (answer.status !== 200) expect(httpStatus).toBe(answer.status);
      });
    }
  });
}

describe("R-PROV-4 the wait that a provider asks for", () => {
  test.each<[string, Record<string, string>, number | undefined]>([
    ["none", {}, undefined],
    ["seconds", { "retry-after": "3" }, 3000],
    ["zero", { "retry-after": "0" }, 0],
    ["decimals", { "retry-after": "0.25" }, 250],
    ["more decimals than milliseconds", { "retry-after": "0.0001" }, 1],
    ["spaces around", { "retry-after": "  3  " }, 3000],
    ["milliseconds win", { "retry-after": "3", "retry-after-ms": "2500" }, 2500],
    ["milliseconds with decimals", { "retry-after-ms": "12.2" }, 13],
    ["milliseconds that are no number", { "retry-after": "3", "retry-after-ms": "soon" }, 3000],
    ["empty milliseconds", { "retry-after": "3", "retry-after-ms": "" }, 3000],
    ["negative milliseconds", { "retry-after": "3", "retry-after-ms": "-1" }, 3000],
    ["only wrong milliseconds", { "retry-after-ms": "0x10" }, undefined],
    ["a date to come", { "retry-after": "Thu, 01 Jan 2026 12:01:00 GMT" }, 60_000],
    ["a date that is past", { "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }, 0],
    ["a date in the old long form", { "retry-after": "Thursday, 01-Jan-26 12:00:10 GMT" }, 10_000],
    ["a date in the old C form, in GMT", { "retry-after": "Thu Jan  1 12:00:10 2026" }, 10_000],
    ["an ISO date", { "retry-after": "2026-01-01T12:00:05Z" }, 5000],
    ["a date beyond a day", { "retry-after": "Sun, 01 Jan 2040 00:00:00 GMT" }, 86_400_000],
    ["seconds beyond a day", { "retry-after": "999999999999999999999999" }, 86_400_000],
    ["an empty value", { "retry-after": "" }, undefined],
    ["a word", { "retry-after": "soon" }, undefined],
    ["a word with a number", { "retry-after": "in 5" }, undefined],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["a sign", { "retry-after": "+5" }, undefined],
    ["an exponent", { "retry-after": "1e3" }, undefined],
    ["a list", { "retry-after": "1, 2" }, undefined],
    ["a comma", { "retry-after": "1,5" }, undefined],
    ["Infinity", { "retry-after": "Infinity" }, undefined],
    ["NaN", { "retry-after": "NaN", "retry-after-ms": "NaN" }, undefined],
    ["a duration", { "retry-after": "2m59.56s" }, undefined],
    ["a date that is none", { "retry-after": "Thu, 99 Foo 2026 12:01:00 GMT" }, undefined],
  ])("%s", (_name, headers, wait) => expect(retryAfter(new Headers(headers), NOW)).toBe(wait));

  test("it is a whole number between 0 and a day, or nothing, whatever the header holds", () => {
    const value = fc.oneof(
      fc.double().map(String),
      fc.string({ unit: fc.constantFrom(...Array.from("0123456789.-+eE:, GMTJan")) }),
    );
    fc.assert(
      fc.property(value, fc.constantFrom("retry-after", "retry-after-ms"), (text, name) => {
        const wait = retryAfter(new Headers({ [name]: text }), NOW);
        if (wait !== undefined) expect(Number.isInteger(wait) && wait >= 0 && wait <= 86_400_000).toBe(true);
      }),
    );
  });
});

describe("R-PROV-9 R-ERR-2 nothing of an answer is repeated", () => {
  const marker = "MARKER q7 zebra";
  const place = fc.constantFrom("message", "type", "code", "param", "status", "detail", "error");
  test("prose in any field, in any shape, at any status", () => {
    const shape = fc.constantFrom(
      (fields: unknown) => ({ error: fields }),
      (fields: unknown) => [{ error: fields }],
      (fields: unknown) => fields,
      () => ({ error: marker }),
      () => marker,
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...tables.map(([format]) => format)),
        fc.constantFrom(200, 302, 400, 401, 404, 429, 500, 503),
        place,
        shape,
        fc.boolean(),
        (format, status, field, shaped, raw) => {
          const value = shaped({ message: marker, [field]: marker });
          const body = raw ? `${marker} ${JSON.stringify(value)}` : JSON.stringify(value);
          const failure = failureOf(format, { status, headers: { "x-echo": "MARKER", "retry-after": marker }, body });
          expect(JSON.stringify(failure)).not.toMatch(/MARKER|zebra/);
        },
      ),
    );
  });
  test.each([
    "a sentence with spaces",
    "sk-live-abcdefghijklmnop",
    "SK-ABC",
    "AIzaSyA1b2C3d4E5f6G7h8I9",
    "https://internal.example/v1",
    "10.0.0.7",
    "user@example.com",
    "x".repeat(65),
    "line\nbreak",
    "naïve",
    "",
  ])("%j is no machine word", (code) => {
    for (const fields of [{ code }, { type: code }]) {
      expect(failureOf("openai-chat", json(400, { error: fields }))).not.toHaveProperty("providerCode");
      expect(inBandFailure({ type: undefined, code: undefined, message: "", ...fields })).not.toHaveProperty(
        "providerCode",
      );
    }
  });
  test("a word that is documented is kept, the code before the type", () => {
    const codeOf = (type: string, code: string) => failureOf("openai-chat", openAiError(400, type, code)).providerCode;
    expect(codeOf("invalid_request_error", "Unsupported_Value")).toBe("Unsupported_Value");
    expect(codeOf("invalid_request_error", "some code")).toBe("invalid_request_error");
  });
  test.each(["supersecretkeyvalue", "paris", "some_code", "constructor", "hasOwnProperty"])(
    "a word that is not, like %s, may be the key or the prompt",
    (word) => {
      expect(failureOf("openai-chat", json(401, { error: { code: word, type: word } }))).not.toHaveProperty(
        "providerCode",
      );
    },
  );
});
