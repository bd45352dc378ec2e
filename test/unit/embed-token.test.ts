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
