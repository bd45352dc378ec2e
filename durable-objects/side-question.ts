// A question to a model beside the run: a title, a summary, what to look for. Answers with its text, or with why there is none; leaves no trace in the run.
import type { Failure } from "../schemas/failure.ts";
import type { PlannedTarget } from "../schemas/plan.ts";
import type { ProviderEvent, Verdict } from "../schemas/provider.ts";
import type { StartRequest } from "../schemas/run.ts";
import type { Usage } from "../schemas/usage.ts";
import { adapters } from "../src/providers/index.ts";
import { startAttempt } from "./attempt.ts";
import { keyOf } from "./target-key.ts";

/** UTF-16 units of an answer; what comes after them is not read. */
const MAX_ANSWER = 65_536;
/** A model that thinks before it answers needs room for that. */
const MAX_TOKENS = 2048;
/** Milliseconds to wait for the whole answer. */
const ANSWER_WAIT_MS = 30_000;

export type Question = Pick<StartRequest, "messages" | "generation">;

/** `usage`: as the provider has reported it. */
export type AsideAnswer =
  | { answered: true; text: string; usage?: Usage }
  | { answered: false; failure: Failure; usage?: Usage };

const givenUp: Failure = { failureClass: "interrupted", message: "The question was given up." };

/** Asks a target as an attempt does, with its clocks. When the signal ends it, the provider's socket is closed. */
export async function askModel(
  env: Env,
  planned: PlannedTarget,
  { messages = [], generation }: Question,
  signal: AbortSignal,
): Promise<AsideAnswer> {
  if (signal.aborted) return { answered: false, failure: givenUp };
  const answer = Promise.withResolvers<AsideAnswer>();
  let text = "";
  let usage: Usage | undefined;
  const used = () => (usage === undefined ? {} : { usage });
  const take = (event: ProviderEvent): void => {
    if (event.type === "text") text += event.text;
    else if (event.type === "snapshot") text = event.text;
    else if (event.type === "usage") usage = event.usage;
    else if (event.type === "verdict") {
      const failure = failureOf(event, event.verdict === "complete" ? (event.finalText ?? text) : text);
      if (failure !== undefined) answer.resolve({ answered: false, failure, ...used() });
      else answer.resolve({ answered: true, text: wholeText(event, text).slice(0, MAX_ANSWER), ...used() });
    }
    if (text.length > MAX_ANSWER) answer.resolve({ answered: true, text: text.slice(0, MAX_ANSWER), ...used() });
  };
  const attempt = startAttempt({
    adapter: adapters[planned.adapter],
    planned,
    request: {
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      messages,
      generation: { ...generation, maxOutputTokens: MAX_TOKENS },
    },
    key: keyOf(env, planned.target),
    bindings: { ...env },
    emit: (events) => events.forEach(take),
    now: () => Date.now(),
  });
  const giveUp = (): void => answer.resolve({ answered: false, failure: givenUp, ...used() });
  signal.addEventListener("abort", giveUp);
  try {
    return await answer.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    attempt.abort();
  }
}

/** The text of a completed answer; `undefined` for a failure, a cut, a late answer, a target that would not understand, or when the signal ends it. */
export async function askAside(
  env: Env,
  planned: PlannedTarget,
  prompt: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (adapters[planned.adapter].scripted === true) return undefined;
  const late = new AbortController();
  const giveUp = (): void => late.abort();
  const timer = setTimeout(giveUp, ANSWER_WAIT_MS);
  if (signal?.aborted === true) giveUp();
  signal?.addEventListener("abort", giveUp);
  try {
    const answer = await askModel(env, planned, { messages: [{ role: "user", content: prompt }] }, late.signal);
    return answer.answered ? answer.text : undefined;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

const wholeText = (verdict: Verdict, text: string): string =>
  verdict.verdict === "complete" ? (verdict.finalText ?? text) : text;

/** `undefined` for an answer. `text`: what it says. */
function failureOf(event: Verdict, text: string): Failure | undefined {
  switch (event.verdict) {
    case "complete":
      if (event.stopReason !== "content_filter" || text !== "") return undefined;
      return { failureClass: "content_policy", message: "The provider withheld its answer." };
    case "failed":
      return event.failure;
    case "truncated":
      return { failureClass: "truncated", message: "The provider's stream ended without a terminal event." };
    case "aborted":
      return { failureClass: "reset", message: "The provider's stream was closed." };
  }
}
