import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

it("answers", async () => {
  const stub = env.RUN.getByName("local/none");
  expect(await stub.state()).toBeUndefined();
});
