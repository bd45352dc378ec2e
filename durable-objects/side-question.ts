// A question to a model beside the run: a title, a summary. Answers with its text or with nothing; leaves no trace in the run.
import type { PlannedTarget } from "../schemas/plan.ts";
import type { ProviderEvent } from "../schemas/provider.ts";
import { adapters } from "../src/providers/index.ts";
import { startAttempt } from "./attempt.ts";
import { keyOf } from "./target-key.ts";

/** UTF-16 units of an answer; what comes after them is not read. */
const MAX_ANSWER = 65_536;
/** A model that thinks before it answers needs room for that. */
const MAX_TOKENS = 2048;
/** Milliseconds to wait for the whole answer. */
const ANSWER_WAIT_MS = 30_000;

/** The text of a completed answer; `undefined` for a failure, a cut, a late answer, a target that would not understand, or when the signal ends it. */
export async function askAside(
  env: Env,
  planned: PlannedTarget,
  prompt: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (signal?.aborted === true || adapters[planned.adapter].scripted === true) return undefined;
  const answer = Promise.withResolvers<string | undefined>();
  let text = "";
  const take = (event: ProviderEvent): void => {
    if (event.type === "text") text += event.text;
    else if (event.type === "snapshot") text = event.text;
    else if (event.type === "verdict") {
      answer.resolve(event.verdict === "complete" ? (event.finalText ?? text) : undefined);
    }
    if (text.length > MAX_ANSWER) answer.resolve(text.slice(0, MAX_ANSWER));
  };
  const attempt = startAttempt({
    adapter: adapters[planned.adapter],
    planned,
    request: {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      messages: [{ role: "user", content: prompt }],
      generation: { maxOutputTokens: MAX_TOKENS },
    },
    key: keyOf(env, planned.target),
    bindings: { ...env },
    emit: (events) => events.forEach(take),
    now: () => Date.now(),
  });
  const giveUp = (): void => answer.resolve(undefined);
  const timer = setTimeout(giveUp, ANSWER_WAIT_MS);
  signal?.addEventListener("abort", giveUp);
  try {
    return await answer.promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
    attempt.abort();
  }
}
