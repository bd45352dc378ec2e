// The contract's rule on key names that look like a credential.
import fc from "fast-check";
import { expect, test } from "vitest";
import { findSecretKeys, hasSecretKey, isSecretKey } from "../../src/run/secret-keys.ts";

test.each(
  [
    ["apiKey", "api-key", "API_KEY", "x_api_v2_key", "X-Api-Key", "openaiApiKey", "keyOfTheApi", "apikey2"],
    ["authorization", "Authorization", "proxy-authorization", "authorizationHeader"],
    ["password", "userPassword", "pass-word", "PASSWORD_HASH", "secret", "client_secret", "secretary", "s.e.c.r.e.t"],
    ["token", "TOKEN", "nextToken", "access_token", "bearerToken", "to-ken", "cursorToken", "resumeToken"],
  ].flat(),
)("R-START-6 %s looks like a secret", (name) => {
  expect(isSecretKey(name)).toBe(true);
});

test.each(
  [
    ["totalTokens", "maxOutputTokens", "tokens", "tokenCount", "tokenizer", "token2"],
    ["key", "publicKey", "keyboard", "api", "apiVersion", "monkey", "toolCallId", "auth", "authContextRef"],
    ["pass", "credential", "sequence", "", "日本", "__proto__"],
  ].flat(),
)("R-START-6 %s does not", (name) => {
  expect(isSecretKey(name)).toBe(false);
});

test("R-LOG-6 finds every one at any depth, in order, as JSON pointers; values are never looked at", () => {
  const value = { a: [{ token: 1 }, { ok: "apiKey" }], "x/y": { "s~ecret": { password: null } }, list: ["secret"] };
  expect(findSecretKeys(value).toSorted()).toEqual(["/a/0/token", "/x~1y/s~0ecret", "/x~1y/s~0ecret/password"]);
  expect(hasSecretKey(value)).toBe(true);
  expect(hasSecretKey(["token", { note: "password" }])).toBe(false);
});

test("R-START-6 a skipped subtree is skipped whole, its own name is not", () => {
  const skip = (pointer: string) => pointer === "/input" || pointer === "/token";
  expect(findSecretKeys({ input: { apiKey: { token: 1 } } }, skip)).toEqual([]);
  expect(findSecretKeys({ token: { apiKey: 1 } }, skip)).toEqual(["/token"]);
});

test("R-START-6 depth does not matter", () => {
  const depth = 50_000;
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(depth)}{"secret":1}${"}".repeat(depth)}`);
  expect(findSecretKeys(deep)).toHaveLength(1);
});

test("R-START-6 the rule is the contract's, word for word, for any name", () => {
  const words = fc.constantFrom("api", "key", "token", "tokens", "secret", "pass", "word", "authorization", "x", "2");
  const joint = fc.constantFrom("", "-", "_", " ", "é");
  const name = fc
    .array(fc.tuple(words, joint, fc.boolean()), { maxLength: 5 })
    .map((parts) => parts.map(([word, between, upper]) => (upper ? word.toUpperCase() : word) + between).join(""));
  fc.assert(
    fc.property(name, (text) => {
      const plain = (text.toLowerCase().match(/[a-z0-9]/g) ?? []).join("");
      const named = ["authorization", "password", "secret", "apikey"].some((word) => plain.includes(word));
      const expected = named || (plain.includes("api") && plain.includes("key")) || plain.endsWith("token");
      expect(isSecretKey(text)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});
