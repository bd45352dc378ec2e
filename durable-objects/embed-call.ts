// One request for embeddings, and again after a failure that may pass by itself. Bounded in time and bytes; decides nothing about what is kept.
import type { EmbedPlan } from "../schemas/embedding.ts";
import type { Failure } from "../schemas/failure.ts";
import { embeddingsOf, type Vectors } from "../src/providers/embed-answer.ts";
import type { EmbedAsk } from "../src/providers/embedder.ts";
import { embedders } from "../src/providers/embedders.ts";
import { adapters } from "../src/providers/index.ts";
import type { AdapterRequest } from "../src/providers/provider.ts";
import { failurePolicies } from "../src/run/fallback.ts";
import { bodyReader } from "./body-reader.ts";
import { keyOf } from "./target-key.ts";
import { pause } from "./within.ts";

/** Bytes of an answer: 64 vectors of 4,096 numbers take a third of it. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Milliseconds before the first further try, where the target asks for none; twice as many before each one after it. */
const RETRY_MS = 500;

/** `until`: when there must be an answer, Unix epoch, milliseconds. */
export async function askEmbeddings(
  env: Env,
  plan: EmbedPlan,
  ask: EmbedAsk,
  until: number,
): Promise<Vectors | Failure> {
  const key = keyOf(env, plan.target);
  if (typeof key === "object") {
    return { failureClass: "auth", message: `The secret ${key.missing} is not set on this server.` };
  }
  const request = embedders[plan.embedder].request(ask, plan.target, key);
  if (!Object.values(request.headers).every((value) => /^[\x20-\x7e]*$/.test(value))) {
    const message = `The secret ${plan.target.keyVar ?? ""} holds characters that a header cannot carry.`;
    return { failureClass: "auth", message };
  }
  for (let tries = 0; ; tries++) {
    const answer = await askOnce(env, plan, ask, request, until);
    if (!("failureClass" in answer) || tries >= plan.retries) return answer;
    if (!failurePolicies[answer.failureClass].retriesSame) return answer;
    const wait = answer.retryAfterMs ?? RETRY_MS * 2 ** tries;
    if (Date.now() + wait >= until) return answer;
    await pause(wait);
  }
}

async function askOnce(
  env: Env,
  { target, embedder, headersMs }: EmbedPlan,
  ask: EmbedAsk,
  request: AdapterRequest,
  until: number,
): Promise<Vectors | Failure> {
  const adapter = adapters[embedder];
  const abort = new AbortController();
  const left = Math.max(0, until - Date.now());
  let phase: "headers" | "body" = "headers";
  const headersTimer = setTimeout(() => abort.abort(), Math.min(headersMs, left));
  const wholeTimer = setTimeout(() => abort.abort(), left);
  const { signal } = abort;
  try {
    const response = await unlessAborted(
      Promise.resolve(
        adapter.respond?.(request, target, signal, { ...env }) ??
          fetch(request.url, {
            method: "POST",
            headers: request.headers,
            body: request.body,
            redirect: "manual",
            signal,
          }),
      ),
      signal,
    );
    if ("failureClass" in response) return response;
    phase = "body";
    clearTimeout(headersTimer);
    const body = await textOf(response, signal);
    if (body === undefined) return { failureClass: "malformed", message: "The provider's answer is too large." };
    const { status, headers } = response;
    return embeddingsOf({ status, headers, body, now: Date.now() }, ask, embedders[embedder], adapter.failure);
  } catch {
    // The runtime's message may hold hosts and paths, and cannot tell causes apart: only the phase counts.
    if (signal.aborted) return Date.now() < until ? late.headers : late.body;
    return broken[phase];
  } finally {
    clearTimeout(headersTimer);
    clearTimeout(wholeTimer);
    abort.abort();
  }
}

const broken: Record<"headers" | "body", Failure> = {
  headers: { failureClass: "connect", message: "The provider could not be reached." },
  body: { failureClass: "reset", message: "The provider's connection broke." },
};
const late: Record<"headers" | "body", Failure> = {
  headers: { failureClass: "timeout_headers", message: "The provider sent no response headers in time." },
  body: { failureClass: "timeout_total", message: "The provider sent no embeddings in time." },
};

/** `undefined` when there is more of it than any answer needs. */
async function textOf({ body }: Response, signal: AbortSignal): Promise<string | undefined> {
  if (body === null) return "";
  const reader = bodyReader(body);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const piece = await unlessAborted(reader.read(), signal);
      if (piece === undefined) return text + decoder.decode();
      bytes += piece.byteLength;
      if (bytes > MAX_ANSWER_BYTES) return undefined;
      text += decoder.decode(piece, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Aborting a request does not end what is read of its answer, nor what a binding does. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(new Error("aborted"));
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
