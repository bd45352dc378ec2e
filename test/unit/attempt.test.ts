// Whose fault it is that an attempt ends: the network's, the body's, or our own.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startAttempt } from "../../durable-objects/attempt.ts";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { openAiChat } from "../../src/providers/openai-chat.ts";
import type { Adapter } from "../../src/providers/provider.ts";
import { openAiChat as openAiChatEvents } from "../support/provider-bytes/openai-chat.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

const SECRET = "a prompt that nobody may read";
const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  vi.spyOn(console, "error").mockImplementation((line: unknown) => lines.push(String(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const events = openAiChatEvents({ deltas: ["Hello", " there", "."] }).map(toBytes);

/** A body of these pieces, each a turn after the one before; then it ends, or breaks. */
function bodyOf(pieces: readonly Uint8Array[], breaks = false): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        const piece = pieces[next++];
        if (piece !== undefined) controller.enqueue(piece);
        else if (breaks) controller.error(new Error(SECRET));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function attempt(changes: Partial<Adapter>): Promise<ProviderEvent[]> {
  const seen: ProviderEvent[] = [];
  return new Promise((resolve) => {
    startAttempt({
      adapter: { ...openAiChat, ...changes },
      planned: {
        target: { id: "a", adapter: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", model: "m" },
        clocks: { headersMs: 60_000, firstOutputMs: 60_000, idleMs: 60_000, progressMs: 60_000, minBytesPerSecond: 0 },
      },
      request: { schemaVersion: "1.0", task: { kind: "text_to_text" }, prompt: SECRET },
      key: undefined,
      bindings: {},
      now: Date.now,
      emit(more) {
        seen.push(...more);
        if (more.at(-1)?.type === "verdict") resolve(seen);
      },
    });
  });
}

/** Fails at the bytes of its n-th call. */
const failingAt = (calls: number): Partial<Adapter> => ({
  reader(limits) {
    const stage = openAiChat.reader(limits);
    let left = calls;
    return {
      ...stage,
      feed(bytes) {
        if (--left < 0) throw new RangeError(SECRET);
        return stage.feed(bytes);
      },
    };
  },
});

const failedAs = (failureClass: string) => ({ type: "verdict", verdict: "failed", failure: { failureClass } });

test.each([0, 1, 2])(
  "R-PROV-33 a reader that throws after %i calls is our fault, and says so in the log",
  async (calls) => {
    const seen = await attempt({ ...failingAt(calls), respond: () => new Response(bodyOf(events)) });
    expect(seen.at(-1)).toMatchObject(failedAs("unknown"));
    expect(lines).toEqual(['{"type":"bug","name":"RangeError"}']);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  },
);

test("R-PROV-33 so is a reader that throws at the end", async () => {
  const throwing: Partial<Adapter> = {
    reader(limits) {
      const stage = openAiChat.reader(limits);
      const end = (): never => {
        throw new RangeError(SECRET);
      };
      return { ...stage, end };
    },
  };
  const cut = await attempt({ ...throwing, respond: () => new Response(bodyOf(events.slice(0, 2))) });
  expect(cut.at(-1)).toMatchObject(failedAs("unknown"));
  expect(lines).toEqual(['{"type":"bug","name":"RangeError"}']);
});

test("R-PROV-33 so is a request that cannot be made", async () => {
  const seen = await attempt({
    request() {
      throw new TypeError(SECRET);
    },
  });
  expect(seen).toMatchObject([failedAs("unknown")]);
  expect(lines).toEqual(['{"type":"bug","name":"TypeError"}']);
});

test("R-FALL-7 a body that breaks is a reset, one that cannot be had no connection; neither is a bug", async () => {
  const broken = await attempt({ respond: () => new Response(bodyOf(events.slice(0, 2), true)) });
  expect(broken.at(-1)).toMatchObject(failedAs("reset"));
  const unreachable = await attempt({ respond: () => Promise.reject(new Error(SECRET)) });
  expect(unreachable).toMatchObject([failedAs("connect")]);
  const refused = await attempt({});
  expect(refused).toMatchObject([failedAs("connect")]);
  expect(lines).toEqual([]);
  expect(JSON.stringify([broken, unreachable, refused])).not.toContain(SECRET);
});
