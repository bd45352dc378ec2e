// Embed tokens as the server makes them, read by a second implementation, and the other way round.
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { openEmbedToken, signEmbedToken } from "../../src/http/dialects/sveda/embed-token.ts";
import { keyOf, tokenOf } from "../support/sveda-token.ts";

const claims = {
  tenant: "local",
  visitor_id: "ann",
  expires_at: 1_800_000_000,
  policy: "support",
  grants: { web: true },
};

test("R-SVH-3 a token carries its claims and the signature of its body under the tenant's key", async () => {
  const token = await signEmbedToken("secret", claims);
  expect(token).toMatch(/^sveda_embed_[\w-]+\.[0-9a-f]{64}$/);
  const [body = "", signature] = token.slice("sveda_embed_".length).split(".");
  expect(JSON.parse(Buffer.from(body, "base64url").toString())).toEqual(claims);
  expect(signature).toBe(createHmac("sha256", keyOf("secret", "local")).update(body).digest("hex"));
});

test("R-SVH-3 a token is good to the end of its last second, and then no more", async () => {
  const token = tokenOf(keyOf("secret", "local"), JSON.stringify(claims));
  const at = (ms: number) => openEmbedToken("secret", token, 1_800_000_000_000 + ms);
  expect(await at(-5)).toEqual(claims);
  expect(await at(0)).toEqual(claims);
  expect(await at(999)).toEqual(claims);
  expect(await at(1000)).toBeUndefined();
});

test("R-SVH-3 a visitor's name has 64 characters at most, however many units they take", async () => {
  const visitorOf = async (visitor_id: string) => {
    const token = tokenOf(keyOf("secret", "local"), JSON.stringify({ ...claims, visitor_id }));
    return (await openEmbedToken("secret", token, 0))?.visitor_id;
  };
  for (const name of ["🎉".repeat(64), "é".repeat(64), ` ${"x".repeat(64)} `]) {
    expect(await visitorOf(name)).toBe(name.trim());
  }
  for (const name of ["🎉".repeat(65), "x".repeat(65), " ", ""]) expect(await visitorOf(name)).toBeUndefined();
});

test("R-SVH-3 grants in a token: odd patterns and modes can be read, other shapes cannot", async () => {
  const grantsOf = async (grants: unknown) => {
    const token = tokenOf(keyOf("secret", "local"), JSON.stringify({ ...claims, grants }));
    return (await openEmbedToken("secret", token, 0))?.grants;
  };
  expect(await grantsOf({ mcp: { allow: ["", "a*b"], max_mode: "WRITE" } })).toEqual({
    mcp: { allow: ["", "a*b"], max_mode: "read" },
  });
  for (const grants of ["x", [], { mcp: { allow: "*" } }, { web: 1 }, { unknown: true }]) {
    expect(await grantsOf(grants)).toBeUndefined();
  }
});
