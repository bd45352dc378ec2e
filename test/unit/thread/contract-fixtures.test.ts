// Holds what we take of pushed records against DeerFlow's run event contract, where it is at hand: in the folder that
// HOLDFAST_CONTRACTS names, else in `shared` beside the checkout. The product and its other tests never need it.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { eventShapes } from "../../../schemas/thread-events.ts";
import { recordCheck } from "../../../src/thread/record-check.ts";
import { furtherSamples, pathsIn, replaced, samples, without, type Sample } from "./event-samples.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const folder = path.resolve(process.env["HOLDFAST_CONTRACTS"] ?? path.join(root, "../shared"), "fixtures/deerflow");
const file = path.join(folder, "run_event_stream_contract.json");

if (existsSync(file)) {
  describe("contract", againstContract);
} else {
  test("R-REC-10 the published contract is not here, so nothing is held against it", () => {
    expect(existsSync(file)).toBe(false);
  });
}

/** Of any type but the right one, or of the right one and wrong. */
const STRANGERS: readonly unknown[] = [null, true, 0, -1, 1.5, "", "x", [], [null], {}, { a: 1 }];

function againstContract(): void {
  const schema = v.union([v.boolean(), v.looseObject({})]);
  const shape = { category: v.string(), content_schema: schema, metadata_schema: schema };
  const contract = v.parse(
    v.looseObject({
      version: v.literal(1),
      record_schema: v.looseObject({}),
      categories: v.record(v.string(), v.string()),
      events: v.array(v.looseObject({ event_type: v.string(), ...shape })),
      dynamic_event_patterns: v.array(v.looseObject({ pattern: v.string(), ...shape })),
    }),
    JSON.parse(readFileSync(file, "utf8")),
  );
  const shapes = [
    ...contract.events,
    ...contract.dynamic_event_patterns.map((event) => ({ ...event, event_type: "middleware:guardrail" })),
  ];

  /** The contract's own word on a record. */
  const validators = new Map(
    shapes.map(({ event_type, category, content_schema, metadata_schema }) => {
      const { properties = {} } = v.parse(
        v.looseObject({ properties: v.optional(v.looseObject({})) }),
        contract.record_schema,
      );
      const record = {
        type: "object",
        required: ["event_type", "category", "content", "metadata"],
        properties: {
          ...properties,
          category: { const: category },
          content: content_schema,
          metadata: metadata_schema,
        },
      };
      const formats = { "date-time": true } as const;
      return [event_type, new Ajv2020({ strict: false, formats }).compile(record)] as const;
    }),
  );
  const check = recordCheck("t1", "r1");
  const agree = (type: string, record: unknown, where: string): boolean => {
    const theirs = validators.get(type)?.(record) === true;
    expect(check(record).ok, `${where}: ${JSON.stringify(record)}`).toBe(theirs);
    return theirs;
  };
  const recordOf = ({ event_type, category, content, metadata }: Sample): unknown => ({
    event_type,
    category,
    content,
    metadata,
  });
  const named = samples.map((sample, index) => [`${sample.event_type} (${index})`, sample] as const);

  test("R-REC-10 all types and categories of the contract are known, and nothing else is held to be of it", () => {
    expect(new Set(samples.map(({ event_type }) => event_type))).toEqual(new Set(shapes.map((one) => one.event_type)));
    expect(new Set(samples.map(({ category }) => category))).toEqual(new Set(Object.keys(contract.categories)));
    const ours = new Set([...samples, ...furtherSamples].map(({ event_type }) => event_type));
    expect(Object.keys(eventShapes).filter((type) => !ours.has(type))).toEqual([]);
  });

  test.each(named)("R-REC-10 %s: what it requires is what the contract requires", (_name, sample) => {
    const record = recordOf(sample);
    expect(agree(sample.event_type, record, "as it is")).toBe(true);
    const refused = pathsIn(record)
      .filter((at) => /^(content|metadata)\//.test(at) && !/\/\d+$/.test(at))
      .filter((at) => !agree(sample.event_type, without(record, at), `without ${at}`));
    expect(refused.toSorted()).toEqual(sample.required.toSorted());
  });

  test.each(named)("R-REC-10 %s: whatever stands anywhere in it, both say the same", (_name, sample) => {
    const record = recordOf(sample);
    const verdicts = pathsIn(record)
      .filter((at) => at !== "event_type")
      .flatMap((at) => STRANGERS.map((other) => agree(sample.event_type, replaced(record, at, other), at)));
    expect(verdicts).toContain(false);
  });
}
