// Holds our schemas, frames and orders against the published ones of Sveda, where they are at hand: in the folder that
// HOLDFAST_CONTRACTS names, else in `shared` beside the checkout. The product and its other tests never need them.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { entryOf } from "../../../durable-objects/segment-codec.ts";
import { svedaEventSchema } from "../../../schemas/dialects/sveda.ts";
import { svedaSse } from "../../../src/dialects/sveda.ts";
import { readTurn } from "../../../src/dialects/sveda-request.ts";
import { damagedLog } from "../../../src/run/reader-faults.ts";
import { sampleRuns } from "../scenarios/samples.ts";
import { orders } from "./orders.ts";
import { randomLog } from "./random-log.ts";
import { logOf, turns } from "./turns.ts";
import { eventsOf, wireOf } from "./wire.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const folder = path.resolve(process.env["HOLDFAST_CONTRACTS"] ?? path.join(root, "../shared"), "fixtures/sveda");
const samplesFile = path.join(folder, "samples/stream-events.json");

const read = (name: string): unknown => JSON.parse(readFileSync(path.join(folder, name), "utf8"));

if (existsSync(samplesFile)) {
  describe("events", againstEvents);
  describe("requests", againstRequests);
  describe("orders", againstOrders);
} else {
  test("R-SV-1 the published fixtures are not here, so nothing is held against them", () => {
    expect(existsSync(samplesFile)).toBe(false);
  });
}

function validatorOf(name: string) {
  const schema = v.parse(v.record(v.string(), v.unknown()), read(`schemas/${name}.schema.json`));
  const formats = { "date-time": (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) };
  return new Ajv2020({ strict: false, allErrors: true, formats }).compile(schema);
}

function againstEvents(): void {
  const validate = validatorOf("stream-event");
  const { valid, invalid } = v.parse(
    v.looseObject({ valid: v.array(v.unknown()), invalid: v.array(v.unknown()) }),
    read("samples/stream-events.json"),
  );

  test.each(valid.map((event) => [JSON.stringify(event), event]))("R-SV-1 takes %s", (_name, event) => {
    expect(v.safeParse(svedaEventSchema, event).issues).toBeUndefined();
    expect(validate(event)).toBe(true);
  });

  test.each(invalid.map((event) => [JSON.stringify(event), event]))("R-SV-1 refuses %s", (_name, event) => {
    expect(v.is(svedaEventSchema, event)).toBe(false);
    expect(validate(event)).toBe(false);
  });

  const judge = (wire: string): void => {
    for (const event of eventsOf(wire)) {
      validate(event);
      expect(validate.errors ?? [], JSON.stringify(event)).toEqual([]);
    }
  };

  test("R-SV-3 every frame that we write is valid by the published schema", () => {
    for (const log of Object.values(turns)) judge(wireOf(logOf(log)));
    for (const { run } of [...orders, ...sampleRuns]) judge(wireOf(run.events.map(entryOf)));
    judge(svedaSse.failure(damagedLog("r")));
    fc.assert(
      fc.property(randomLog, (log) => judge(wireOf(log))),
      { numRuns: 300 },
    );
  });
}

function againstRequests(): void {
  const validate = validatorOf("stream-request");
  const messages = [{ role: "user", content: "Hi" }];

  test.each<[unknown]>([
    [{ messages }],
    [
      {
        messages: [{ id: "a", role: "tool", parts: [{ type: "tool-result", toolCallId: "t", output: 1 }] }],
        chatId: "c",
      },
    ],
    [
      {
        messages,
        clientTools: [{ name: "go", description: "", parameters: { type: "object" } }],
        context: {},
        options: {},
      },
    ],
    [{ messages, model: "m", provider: "p", prompt: "", toolDecisions: [] }],
    [{ messages: [{ role: "bot" }] }],
    [{ messages: [{ content: "x" }] }],
    [{ messages: [{ role: "user", content: 1 }] }],
    [{ messages: [{ role: "user", parts: [1] }] }],
    [{ messages, chatId: 1 }],
    [{ messages, context: 1 }],
    [{ messages, clientTools: {} }],
    [{ messages, model: 1 }],
    [{ messages, options: 1 }],
  ])("R-SV-11 %j is judged alike", (body) => {
    expect(readTurn(body, undefined).ok).toBe(validate(body));
  });

  test("R-SV-11 ours is wider where servers are: no messages, null, and client tools without a name", () => {
    for (const body of [
      {},
      { prompt: "Hi" },
      { messages: [] },
      { messages, chatId: null },
      { messages, clientTools: [{}] },
    ]) {
      expect(readTurn(body, undefined).ok).toBe(true);
      expect(validate(body)).toBe(false);
    }
  });
}

function againstOrders(): void {
  const { turns: published } = v.parse(
    v.looseObject({
      turns: v.array(
        v.looseObject({ name: v.string(), events: v.array(v.string()), finishReason: v.optional(v.string()) }),
      ),
    }),
    read("samples/turn-orders.json"),
  );

  test("R-SV-1 R-SV-4 ours are theirs, all of them", () => {
    const named = (name: string) => orders.find((order) => order.name === name.trim());
    expect(published.map(({ name }) => named(name)?.events)).toEqual(published.map(({ events }) => events));
    for (const { name, finishReason } of published) {
      if (finishReason !== undefined) expect(named(name)?.finishReason).toBe(finishReason);
    }
  });
}
