// A Sveda reader of a run whose object dies: it ends with the run's text, or is told that it cannot.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as v from "valibot";
import { expect, it } from "vitest";
import { outcomeSchema } from "../../schemas/outcome.ts";
import { demoTarget, limits, newName, planOf } from "./plan.ts";

interface Frame {
  id: number | undefined;
  data: string;
}

/** The frames after a cursor, until there are enough of them or the stream ends. */
async function read(name: string, cursor: number | undefined, enough = Number.POSITIVE_INFINITY): Promise<Frame[]> {
  const from = cursor === undefined ? ("start" as const) : { after: cursor };
  const answer = await env.RUN.getByName(name).attach({ dialect: "sveda", framing: "sse", from, waitMs: 0 });
  if (!(answer instanceof Response) || answer.body === null) throw new Error("no stream");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const frames: Frame[] = [];
  let rest = "";
  for (let piece = await reader.read(); !piece.done && frames.length < enough; piece = await reader.read()) {
    const blocks = (rest + piece.value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      frames.push({ id: id === undefined ? undefined : Number(id), data: /^data: (.*)$/m.exec(block)?.[1] ?? "" });
    }
  }
  await reader.cancel();
  return frames;
}

const eventsOf = (frames: readonly Frame[]): Record<string, unknown>[] =>
  frames.flatMap(({ data }) => (data === "[DONE]" ? [] : [JSON.parse(data)]));

const textOf = (frames: readonly Frame[]): string =>
  eventsOf(frames)
    .map(({ type, delta }) => (type === "text.delta" ? String(delta) : ""))
    .join("");

const lastId = (frames: readonly Frame[]): number | undefined => frames.findLast(({ id }) => id !== undefined)?.id;

it("R-DIAL-2 R-DUR-5 who has seen what a crash voided is told so; everybody else ends with the run's text", async () => {
  const name = newName();
  const stub = () => env.RUN.getByName(name);
  const plan = planOf(crypto.randomUUID(), {
    chain: [demoTarget("demo-slow")],
    policies: {
      replaces: false,
      onDisconnect: "continue",
      onMidStreamFailure: "retract",
      durability: "standard",
      telemetry: false,
    },
    // Nothing is stored after the commit point, and everything may be shown.
    limits: { ...limits, flushMs: 3_600_000, reserveEvents: 4096 },
  });
  await stub().start(plan, 100);
  const begun = await read(name, undefined, 1);
  const ahead = await read(name, undefined, 4);
  expect(eventsOf(ahead).filter(({ type }) => type === "text.delta").length).toBeGreaterThan(1);
  await expect(runInDurableObject(stub(), (_instance, state) => state.abort("crash"))).rejects.toThrow("crash");

  const outcome = await stub().outcome(20_000);
  if (!(outcome instanceof Response)) throw new Error("the run does not end");
  const ended = v.parse(outcomeSchema, await outcome.json());
  const text = ended.outcome === "completed" ? ended.finalText : ended.partialText;

  const late = await read(name, undefined);
  expect(textOf(late)).toBe(text);
  expect(late.at(-1)?.data).toBe("[DONE]");
  const back = await read(name, lastId(begun.slice(0, 1)));
  expect(textOf([...begun.slice(0, 1), ...back])).toBe(text);
  expect(back.at(-1)?.data).toBe("[DONE]");

  const misled = await read(name, lastId(ahead));
  expect(eventsOf(misled)).toMatchObject([
    { type: "error", code: "llm_error", message: expect.stringContaining("replaced") },
    { type: "message.end", finishReason: "error" },
  ]);
  expect(misled.at(-1)?.data).toBe("[DONE]");
});
