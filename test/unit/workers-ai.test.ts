// Workers AI: what is asked of the binding and of the REST API, what comes of each, and what its error numbers mean.
import { describe, expect, test } from "vitest";
import type { Target } from "../../schemas/config.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import type { StartRequest } from "../../schemas/run.ts";
import { startAttempt } from "../../durable-objects/attempt.ts";
import { planTarget } from "../../src/run/settings.ts";
import { workersAi } from "../../src/providers/workers-ai.ts";
import { build, conversation } from "../support/built-request.ts";
import { read, sumUp } from "../support/corpus/reading.ts";
import { sseEvent } from "../support/provider-bytes/framing.ts";
import { splitBytes } from "../support/provider-bytes/splits.ts";
import {
  workersAiBindingError,
  workersAiChat,
  workersAiDone,
  workersAiError,
  workersAiToken,
} from "../support/provider-bytes/workers-ai.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };

describe("R-PROV-7 the request", () => {
  const target = { baseUrl: "https://api.cloudflare.com/client/v4/accounts/a1", model: MODEL };
  test("R-PROV-7 R-PROV-16 over REST: the model is the path, the key a bearer, and what it has no field for is named", () => {
    const image = "https://pictures.example/cat.png";
    const generation = { maxOutputTokens: 50, temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] };
    expect(
      build(
        "workers-ai",
        {
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "See" },
                { type: "image", url: image },
              ],
            },
          ],
          tools: [look],
          toolChoice: "required",
          generation: { ...generation, output: "json" },
        },
        target,
        "k-1",
      ),
    ).toEqual({
      url: `https://api.cloudflare.com/client/v4/accounts/a1/ai/run/${MODEL}`,
      headers: { "content-type": "application/json", accept: "text/event-stream", authorization: "Bearer k-1" },
      body: {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "See" },
              { type: "image_url", image_url: { url: image } },
            ],
          },
        ],
        stream: true,
        max_tokens: 50,
        temperature: 0.5,
        top_p: 0.9,
        seed: 7,
        response_format: { type: "json_object" },
        tools: [{ type: "function", function: look }],
        tool_choice: "required",
      },
      unsupported: ["generation.stop"],
    });
  });
  test("R-PROV-7 an assistant that only calls has an empty text, not null, and a schema stands bare", () => {
    const schema = { type: "object", properties: {} };
    const { body } = build("workers-ai", { messages: conversation, generation: { output: { schema } } }, target);
    expect(body).toMatchObject({ response_format: { type: "json_schema", json_schema: schema } });
    expect(Object(body).messages[4]).toMatchObject({ role: "assistant", content: "", tool_calls: [{ id: "c2" }] });
  });
  test("R-PROV-7 a model's name cannot leave its path", () => {
    const { url } = build("workers-ai", { prompt: "Hi" }, { ...target, model: "@cf/a?b#c/d e" });
    expect(url).toBe("https://api.cloudflare.com/client/v4/accounts/a1/ai/run/@cf/a%3Fb%23c/d%20e");
  });
});

interface Asked {
  model: unknown;
  inputs: unknown;
  options: unknown;
}

/** A binding that keeps what it was asked, as an object whose method needs its `this`. */
class FakeAi {
  readonly asked: Asked[] = [];
  readonly #answer: (asked: Asked) => unknown;

  constructor(answer: (asked: Asked) => unknown) {
    this.#answer = answer;
  }

  run(model: unknown, inputs: unknown, options: unknown): unknown {
    const asked = { model, inputs, options };
    this.asked.push(asked);
    return this.#answer(asked);
  }
}

const request: StartRequest = { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: "Hi" };
const inside: Target = { id: "edge", adapter: "workers-ai", model: MODEL };

/** One whole attempt at the target inside the Worker. */
function attempt(AI: unknown, asked: StartRequest = request) {
  const events: ProviderEvent[] = [];
  let abort = (): void => undefined;
  const over = new Promise<ProviderEvent[]>((resolve) => {
    const attempted = startAttempt({
      adapter: workersAi,
      planned: planTarget(inside, false),
      request: asked,
      key: undefined,
      bindings: AI === undefined ? {} : { AI },
      emit: (more) => {
        events.push(...more);
        if (more.at(-1)?.type === "verdict") resolve(events);
      },
      now: () => Date.now(),
    });
    abort = () => attempted.abort();
  });
  return { over, abort: () => abort() };
}

const verdictOf = async (AI: unknown) => sumUp(await attempt(AI).over).verdicts;

describe("R-PROV-16 the binding", () => {
  test.each([[[1]], [[2]], [[1, 2]], [[3]]])(
    "R-PROV-2 R-PROV-3 a byte order mark cut at %j hides no error that answers with 200",
    async (cuts) => {
      const pieces = splitBytes(`\uFEFF${JSON.stringify({ errors: [{ code: 3040 }] })}`, cuts);
      const body = new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      });
      expect(await verdictOf(new FakeAi(() => new Response(body)))).toMatchObject([
        { verdict: "failed", failure: { failureClass: "overloaded" } },
      ]);
    },
  );
  test("R-PROV-7 generation parameters that nobody knows are named", async () => {
    const asked = { ...request, generation: { topK: 5, presencePenalty: 1, topP: 0.5 } };
    const events = await attempt(new FakeAi(() => new Response(workersAiChat({ deltas: ["Hi"] }).join(""))), asked)
      .over;
    expect(events.filter(({ type }) => type === "diagnostic")).toEqual([
      { type: "diagnostic", code: "parameter_unsupported", parameter: "generation.topK" },
      { type: "diagnostic", code: "parameter_unsupported", parameter: "generation.presencePenalty" },
    ]);
  });
  test("R-PROV-16 is asked for the model's raw stream, which is read like any other", async () => {
    const wire = workersAiChat({
      deltas: ["Hé", "llo"],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const ai = new FakeAi(() => Promise.resolve(new Response(wire.join(""))));
    expect(sumUp(await attempt(ai).over)).toMatchObject({
      text: "Héllo",
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      verdicts: [{ type: "verdict", verdict: "complete" }],
    });
    expect(ai.asked).toEqual([
      {
        model: MODEL,
        inputs: { messages: [{ role: "user", content: "Hi" }], stream: true },
        options: { returnRawResponse: true, signal: expect.any(AbortSignal) },
      },
    ]);
  });
  test("R-PROV-16 an abort reaches the model", async () => {
    let reached = (): void => undefined;
    const begun = new Promise<void>((resolve) => (reached = resolve));
    let signal: AbortSignal | undefined;
    const ai = new FakeAi(({ options }) => {
      signal = Object(options).signal;
      reached();
      return new Promise(() => undefined);
    });
    const { over, abort } = attempt(ai);
    await begun;
    expect(signal?.aborted).toBe(false);
    abort();
    expect(signal?.aborted).toBe(true);
    expect(await over).toEqual([{ type: "verdict", verdict: "aborted" }]);
  });
  test("R-PROV-16 a bare stream does as well as a response", async () => {
    const body = new Response(workersAiChat({ deltas: ["Hi"] }).join("")).body;
    expect(await verdictOf(new FakeAi(() => Promise.resolve(body)))).toEqual([
      { type: "verdict", verdict: "complete" },
    ]);
  });
  test.each([[undefined], [null], [5], ["AI"], [{}], [{ run: true }]])(
    "R-PROV-16 %j is no binding: the attempt fails and says so",
    async (AI) => {
      expect(await verdictOf(AI)).toEqual([
        {
          type: "verdict",
          verdict: "failed",
          failure: {
            failureClass: "auth",
            message: "The Workers AI binding AI is not configured on this server.",
          },
        },
      ]);
    },
  );
  test.each([
    ["3040: Capacity temporarily exceeded, please try again.", "overloaded"],
    ["InferenceUpstreamError: 5007: No such model @cf/none or task", "model_not_found"],
    ["3036: you have used up your daily free allocation", "quota"],
    ["5004: Invalid data", "invalid_request"],
    ["1101: Worker threw exception", "connect"],
    ["boom", "connect"],
  ])("R-PROV-16 an error that it throws, %s, is %s", async (message, failureClass) => {
    const verdicts = await verdictOf(new FakeAi(() => Promise.reject(new Error(message))));
    expect(verdicts).toEqual([
      { type: "verdict", verdict: "failed", failure: expect.objectContaining({ failureClass }) },
    ]);
    expect(JSON.stringify(verdicts)).not.toMatch(/Capacity|@cf|daily|boom|Worker threw/);
  });
  test("R-PROV-16 R-PROV-3 an answer that is no stream is none", async () => {
    const verdicts = await verdictOf(new FakeAi(() => Promise.resolve({ response: "Hi" })));
    expect(verdicts).toMatchObject([{ verdict: "failed", failure: { failureClass: "protocol" } }]);
  });
  test("R-PROV-16 a target with a base URL is fetched, whatever is bound", () => {
    const target: Target = { ...inside, baseUrl: "https://api.example/a1" };
    const built = workersAi.request(request, target, undefined);
    const ai = new FakeAi(() => new Response());
    expect(workersAi.respond?.(built, target, new AbortController().signal, { AI: ai })).toBeUndefined();
    expect(ai.asked).toEqual([]);
  });
});

describe("R-PROV-3 R-PROV-16 error numbers", () => {
  const failureOf = ({ status, body }: { status: number; body: string }) =>
    workersAi.failure({ status, headers: new Headers(), body, now: 0 });

  test.each([
    [3040, 429, "overloaded"],
    [3036, 429, "quota"],
    [5007, 400, "model_not_found"],
    [3042, 404, "model_not_found"],
    [3003, 400, "invalid_request"],
    [5004, 400, "invalid_request"],
    [3006, 413, "context_length"],
    [5018, 403, "permission"],
    [3007, 408, "timeout_headers"],
    [10000, 401, "auth"],
    [971, 429, "rate_limited"],
  ])(
    "R-PROV-3 R-PROV-16 %i with status %i is %s, by REST, by the binding and in the stream",
    (code, status, failureClass) => {
      const expected = { failureClass, httpStatus: status };
      expect(failureOf(workersAiError(status, code))).toMatchObject(expected);
      expect(failureOf(workersAiBindingError(status, code))).toMatchObject(expected);
      if (code > 9999 || code < 1000) return;
      for (const error of [{ errors: [{ code, message: "scripted" }] }, { error: { code: String(code) } }]) {
        const { text, verdicts } = read("workers-ai", [workersAiToken("Hi"), sseEvent(error), workersAiDone]);
        expect(text).toBe("Hi");
        expect(verdicts).toEqual([
          { type: "verdict", verdict: "failed", failure: { message: expect.any(String), ...expected } },
        ]);
      }
    },
  );
  test("R-PROV-3 errors inside a JSON answer of status 200", () => {
    expect(failureOf(workersAiError(200, 3040))).toMatchObject({ failureClass: "overloaded" });
    expect(failureOf(workersAiError(200, 9999))).toMatchObject({ failureClass: "unknown" });
    expect(failureOf({ status: 200, body: '{"result":{"response":"Hi"},"success":true,"errors":[]}' })).toMatchObject({
      failureClass: "protocol",
    });
  });
  test.each(["", "<html>", "null", "[]", '{"errors":"none"}', '{"errors":[null]}', '{"internalCode":{}}'])(
    "R-PROV-3 a refusal with the body %j has the class of its status",
    (body) => expect(failureOf({ status: 503, body }).failureClass).toBe("overloaded"),
  );
  test("R-PROV-9 R-PROV-16 no number, word or message of the provider's is repeated", () => {
    const failure = failureOf(workersAiError(429, 3036, "key sk-1 of account a1"));
    expect(failure).toEqual({
      failureClass: "quota",
      message: "The provider reports an exhausted quota (HTTP 429).",
      httpStatus: 429,
    });
  });
});

describe("R-PROV-5 the stream", () => {
  test.each([
    ["eos", undefined],
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
  ])("R-PROV-5 a finish_reason %s is %s", (finish_reason, stopReason) => {
    const wire = [sseEvent({ response: "Hi", finish_reason }), workersAiDone];
    expect(read("workers-ai", wire).verdicts).toEqual([
      { type: "verdict", verdict: "complete", ...(stopReason !== undefined && { stopReason }) },
    ]);
  });
  test("R-PROV-22 a response that is nested too deeply to be written is malformed", () => {
    const wire = `data: {"response":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n\n`;
    expect(read("workers-ai", [wire, workersAiDone]).verdicts).toMatchObject([
      { failure: { failureClass: "malformed" } },
    ]);
  });
  test.each(["constructor", "__proto__", "toString"])("R-PROV-16 the code %s is no number of theirs", (code) => {
    const value = { error: { code, type: "overloaded_error" } };
    expect(read("workers-ai", [sseEvent(value)]).verdicts).toMatchObject([{ failure: { failureClass: "overloaded" } }]);
    const answer = { status: 400, headers: new Headers(), body: JSON.stringify(value), now: 0 };
    expect(workersAi.failure(answer).failureClass).toBe("overloaded");
  });
  test("R-PROV-1 nothing after [DONE] is read", () => {
    const wire = [workersAiToken("Hi"), workersAiDone, workersAiToken("late")];
    expect(read("workers-ai", wire).text).toBe("Hi");
  });
  test.each([[{ choices: [] }], [{ usage: { prompt_tokens: 1 } }], [{}], [{ errors: [] }], [{ error: null }]])(
    "R-PROV-1 %j and [DONE] is no answer",
    (value) => {
      expect(read("workers-ai", [sseEvent(value), workersAiDone]).verdicts).toEqual([
        { type: "verdict", verdict: "truncated" },
      ]);
    },
  );
  test("R-PROV-5 other choices belong to nobody", () => {
    const wire = [
      sseEvent({ choices: [{ index: 1, delta: { content: "x" }, finish_reason: "length" }] }),
      workersAiDone,
    ];
    expect(read("workers-ai", wire)).toMatchObject({ text: "", verdicts: [{ verdict: "truncated" }] });
  });
});
