// What a failure says: the wait that a provider asks for in any spelling, a word that is kept, and never its prose. Which class an error is stands in the table of errors.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adapters } from "../../src/providers/index.ts";
import { inBandFailure } from "../../src/providers/http-failure.ts";
import { durationMs, retryAfter, untilReset, waitInText } from "../../src/providers/retry-after.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { corpusFormats } from "../support/corpus/index.ts";
import { jsonAnswer, type Answer } from "../support/provider-bytes/framing.ts";
import { openAiError } from "../support/provider-bytes/openai-chat.ts";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

const failureOf = (format: StreamFormat, { status, headers, body }: Answer) =>
  adapters[format].failure({ status, headers: new Headers(headers), body, now: NOW });

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

  test.each<[string, Record<string, string>, number | undefined]>([
    ["nothing", {}, undefined],
    ["a reset alone", { "x-ratelimit-reset-tokens": "1s" }, undefined],
    ["something left", { "x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "1s" }, undefined],
    ["nothing left", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s" }, 1500],
    ["another limit's rest", { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-tokens": "1s" }, undefined],
    ["no time", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "" }, undefined],
    ["seconds", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2.5" }, 2500],
    ["a time in seconds", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 7) }, 7000],
    ["a time in milliseconds", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW + 7) }, 7],
    ["a time that is past", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW - 7) }, 0],
    ["a reset beyond a day", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "99d" }, 86_400_000],
  ])("the reset of a limit: %s", (_name, headers, wait) => {
    expect(untilReset(new Headers(headers), NOW)).toBe(wait);
  });

  test.each<[string, number | undefined]>([
    ["7.66s", 7660],
    ["2m59.56s", 179_560],
    ["120ms", 120],
    ["1h2m3s", 3_723_000],
    ["6m0s", 360_000],
    ["0s", 0],
    ["1.0000001s", 1001],
    ["34.074824224s", 34_075],
    ["34seconds", 34_000],
    ["1minute", 60_000],
    ["2hrs", 7_200_000],
    ["", undefined],
    ["5", undefined],
    ["s", undefined],
    ["-1s", undefined],
    ["1s ", undefined],
    ["1 s", undefined],
    ["1e3s", undefined],
    ["5parsecs", undefined],
    ["1constructor", undefined],
    ["1.s", undefined],
    ["1s".repeat(30), undefined],
  ])("the duration %j", (text, wait) => expect(durationMs(text)).toBe(wait));

  test.each<[string, number | undefined]>([
    ["Please try again in 4.77s. Need more?", 4770],
    ["Please try again in 1m2.5s", 62_500],
    ["Please retry after 34 seconds.", 34_000],
    ["Please retry in 22.139s.", 22_139],
    ["Try again in 1 minute 30 seconds.", 90_000],
    ["Please try again later.", undefined],
    ["Please try again in a while.", undefined],
    ["retry after", undefined],
    ["try again in 5", undefined],
    ["Entry again in 5s", undefined],
  ])("the text %j", (text, wait) => expect(waitInText(text)).toBe(wait));

  test("it is a whole number between 0 and a day, or nothing, whatever a header or a text holds", () => {
    const value = fc.oneof(
      fc.double().map(String),
      fc.string({ unit: fc.constantFrom(...Array.from("0123456789.-+eE:, GMTJanmsh")) }),
    );
    const reset = "x-ratelimit-reset-tokens";
    fc.assert(
      fc.property(value, fc.constantFrom("retry-after", "retry-after-ms", reset), (text, name) => {
        const headers = new Headers({ [name]: text, "x-ratelimit-remaining-tokens": "0" });
        const waits = [
          retryAfter(headers, NOW),
          untilReset(headers, NOW),
          durationMs(text),
          waitInText(`retry in ${text}`),
        ];
        for (const wait of waits.filter((ms) => ms !== undefined)) {
          expect(Number.isInteger(wait) && wait >= 0 && wait <= 86_400_000).toBe(true);
        }
      }),
    );
  });
});

describe("R-PROV-13 the request's own names, quoted, class nothing", () => {
  const phrase = fc.constantFrom(
    "throttle",
    "rate limit",
    "too many requests",
    "overloaded",
    "no capacity",
    "daily allocation",
    "insufficient funds",
    "context length",
    "prompt is too long",
    "content filter",
    "invalid api key",
    "unknown model",
    "model not found",
    "internal error",
    "timed out",
  );
  const name = fc.tuple(phrase, fc.constantFrom(" ", "_", "-", "")).map(([words, by]) => words.replaceAll(" ", by));
  const sentence = fc.constantFrom(
    (quoted: string) => `Invalid schema for function '${quoted}': it is no object.`,
    (quoted: string) => `In context=('properties', '${quoted}'), items are missing.`,
    (quoted: string) => `Unknown name "${quoted}" at 'tools[0].parameters.${quoted}': Cannot find field.`,
    (quoted: string) => `The parameter \`${quoted}\` isn't what we'd take.`,
    (quoted: string) => `* request.tools[0].properties[${quoted}]: bad`,
    (quoted: string) => `tools.0.properties.${quoted.replaceAll(" ", "_")}: Input should be an object`,
  );
  test("a refused request stays one, and another error what its status says", () => {
    fc.assert(
      fc.property(
        name,
        sentence,
        fc.constantFrom("openai-chat", "anthropic-messages", "gemini"),
        (quoted, say, format) => {
          const classAt = (status: number): string =>
            failureOf(format, jsonAnswer(status, { error: { type: "novel", message: say(quoted) } })).failureClass;
          expect([400, 422, 500].map(classAt)).toEqual(["invalid_request", "invalid_request", "upstream_5xx"]);
          const inBand = (type: string): string =>
            inBandFailure({ type, code: undefined, message: say(quoted) }).failureClass;
          expect(["invalid_request_error", "novel"].map(inBand)).toEqual(["invalid_request", "unknown"]);
        },
      ),
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
        fc.constantFrom(...corpusFormats.map(({ format }) => format)),
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
      expect(failureOf("openai-chat", jsonAnswer(400, { error: fields }))).not.toHaveProperty("providerCode");
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
      expect(failureOf("openai-chat", jsonAnswer(401, { error: { code: word, type: word } }))).not.toHaveProperty(
        "providerCode",
      );
    },
  );
});
