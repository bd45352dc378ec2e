// What the socket tests share: a provider and the real server in front of it, exact HTTP exchanges, and the shape every error must have.
import { randomUUID } from "node:crypto";
import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import * as v from "valibot";
import { expect } from "vitest";
import { indeRunErrorSchema, validationIssueSchema, type IndeRunError } from "../../schemas/problem.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startBare } from "../support/bare-server.ts";
import type { Holdfast, HoldfastOptions } from "../support/holdfast-server.ts";
import { openAiChat, OPENAI_STREAM_TYPE, type OpenAiChatOptions } from "../support/provider-bytes/openai-chat.ts";
import { streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";

/** The path of target `main` at the provider; target `spare` has SPARE. */
export const MAIN = "/main/chat/completions";
export const SPARE = "/spare/chat/completions";

export interface House {
  provider: FaultProvider;
  server: Holdfast;
  origin: string;
  stop(): Promise<void>;
}

interface HouseOptions extends HoldfastOptions {
  limits?: Record<string, number>;
  cors?: { origins: string[] };
}

/** Route `default` is target `main`, route `both` goes on to `spare`. No target is tried twice, and none is ever benched. */
export async function openHouse({
  limits = {},
  cors = { origins: [] },
  ...options
}: HouseOptions = {}): Promise<House> {
  const provider = await startFaultProvider();
  const target = (id: string) => ({
    id,
    adapter: "openai-chat",
    baseUrl: `${provider.origin}/${id}`,
    model: "test-model",
    retries: 0,
  });
  const config = {
    targets: [target("main"), target("spare")],
    routes: { default: ["main"], both: ["main", "spare"] },
    breaker: { failures: 0 },
    limits,
    cors,
  };
  const server = await startBare({ config, ...options });
  return {
    provider,
    server,
    origin: server.origin,
    async stop() {
      await server.stop();
      await provider.stop();
    },
  };
}

/** A whole OpenAI answer of these pieces of text. */
export function answer(deltas: readonly string[], stream: StreamOptions = {}, chat: OpenAiChatOptions = {}): Script {
  return streamScript(OPENAI_STREAM_TYPE, openAiChat({ ...chat, deltas }), stream);
}

export const newName = (): string => `t-${randomUUID()}`;

export interface Exchange {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body as it came, without transfer coding. */
  body: Buffer;
  text: string;
}

interface ExchangeOptions {
  method?: string;
  headers?: OutgoingHttpHeaders;
  /** Pieces are sent with chunked transfer coding, without a length. */
  body?: string | Buffer | readonly (string | Buffer)[];
  /** Cuts the socket once this many bytes of the body are there. */
  cutAfter?: number;
  /** Cuts the socket once the body matches. */
  cutWhen?: (text: string) => boolean;
}

/** One request on a socket of its own, with every header as given, also Host. `path` goes onto the wire as it stands. */
export function exchange(port: number, path: string, options: ExchangeOptions = {}): Promise<Exchange> {
  const { method = "GET", headers = {}, body, cutAfter = Number.POSITIVE_INFINITY, cutWhen = () => false } = options;
  const done = Promise.withResolvers<Exchange>();
  const call = request({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers: { host: `localhost:${port}`, ...headers },
    agent: false,
  });
  call.once("error", done.reject);
  call.once("response", (response) => {
    let bytes = Buffer.alloc(0);
    const finish = (end: number): void => {
      const seen = bytes.subarray(0, end);
      done.resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: seen,
        text: seen.toString("utf8"),
      });
    };
    response.on("data", (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      if (bytes.length < cutAfter && !cutWhen(bytes.toString("utf8"))) return;
      finish(cutAfter);
      call.destroy();
    });
    response.once("end", () => finish(bytes.length));
    response.once("error", done.reject);
  });
  if (Array.isArray(body)) for (const piece of body) call.write(piece);
  else if (typeof body === "string" || Buffer.isBuffer(body)) call.write(body);
  call.end();
  return done.promise;
}

const detailsSchema = v.looseObject({
  code: v.string(),
  validationIssues: v.optional(v.pipe(v.array(validationIssueSchema), v.minLength(1))),
});

/** The error in an answer: right status, right code, and a valid IndeRunError through and through. */
export async function problemOf(answered: Response | Exchange, status: number, code: string): Promise<IndeRunError> {
  const text = answered instanceof Response ? await answered.text() : answered.text;
  expect(answered.status, text).toBe(status);
  const type = answered instanceof Response ? answered.headers.get("content-type") : answered.headers["content-type"];
  expect(type).toBe("application/json");
  return checkProblem(JSON.parse(text), code);
}

/** The same for an error that came inside a stream. */
export function checkProblem(value: unknown, code: string): IndeRunError {
  const problem = v.parse(indeRunErrorSchema, value);
  if (code === "bug") expect(problem).not.toHaveProperty("details");
  else expect(v.parse(detailsSchema, problem.details).code).toBe(code);
  return problem;
}

/** JSON pointers, `header:` and `query:` names of the fields at fault. */
export function faultyFields(problem: IndeRunError): string[] {
  return v.parse(detailsSchema, problem.details).validationIssues?.map(({ path }) => path) ?? [];
}

export function keywords(problem: IndeRunError): string[] {
  return v.parse(detailsSchema, problem.details).validationIssues?.map(({ keyword }) => keyword) ?? [];
}

const handleSchema = v.strictObject({
  schemaVersion: v.literal("1.0"),
  runId: v.pipe(v.string(), v.minLength(1)),
  startedAt: v.pipe(v.number(), v.integer(), v.minValue(1_700_000_000_000)),
  providerId: v.string(),
});

/** A 202 with its handle. */
export async function handleOf(response: Response): Promise<v.InferOutput<typeof handleSchema>> {
  const text = await response.text();
  expect(response.status, text).toBe(202);
  return v.parse(handleSchema, JSON.parse(text));
}

const recordSchema = v.record(v.string(), v.unknown());

/** A JSON object answered with this status. */
export async function objectOf(response: Response, status = 200): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  return v.parse(recordSchema, JSON.parse(text));
}

/** The outcome of a run, waited for. */
export async function outcomeOf(origin: string, runId: string): Promise<Record<string, unknown>> {
  return objectOf(await fetch(`${origin}/v1/runs/${runId}/outcome?wait=20`));
}

/** Polls until the condition holds; fails after `ms` milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
