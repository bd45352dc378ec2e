// From the configuration to who makes embeddings, with clocks and a version. Asks nobody.
import * as v from "valibot";
import { embedderIdSchema, type Config } from "../../schemas/config.ts";
import type { EmbedPlan } from "../../schemas/embedding.ts";
import { planTarget, totalClock } from "./settings.ts";

/** `undefined` where nobody makes embeddings. */
export function embedPlanOf({ kebab, targets }: Pick<Config, "kebab" | "targets">): EmbedPlan | undefined {
  const { embedding } = kebab;
  const target = targets.find(({ id }) => id === embedding?.target);
  if (embedding === undefined || target === undefined || !v.is(embedderIdSchema, target.adapter)) return undefined;
  const { id, clocks, retries } = planTarget(target, false);
  const { dimensions } = embedding;
  return {
    version: [id, target.model, dimensions].filter((part) => part !== undefined).join("/"),
    ...(dimensions !== undefined && { dimensions }),
    target,
    embedder: target.adapter,
    retries,
    headersMs: clocks.headersMs,
    totalMs: totalClock([target]),
  };
}
