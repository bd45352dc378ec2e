// Holds our readers and schemas against the sample runs of kebab, where they are at hand (test/support/kebab-schemas.ts). The product
// and its other tests never need them.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { answerEventSchema } from "../../../schemas/dialects/kebab-answer.ts";
import { askedView, reduce, type AskView } from "../../../src/console/ask/answer-view.ts";
import { kebabFixtures, publishedFault } from "../../support/kebab-schemas.ts";

const folder = path.join(kebabFixtures, "samples");
const file = path.join(folder, "manifest.json");
const record = v.record(v.string(), v.unknown());
type Line = v.InferOutput<typeof record>;

if (existsSync(file)) {
  describe("samples", againstSamples);
} else {
  test("R-KB-77 the published samples are not here, so nothing is held against them", () => {
    expect(existsSync(file)).toBe(false);
  });
}

const linesOf = (name: string): Line[] => {
  const from = path.join(folder, name);
  const text = existsSync(from) ? readFileSync(from, "utf8") : "";
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => v.parse(record, JSON.parse(line)));
};

const read = (lines: readonly Line[]): AskView =>
  lines.reduce<AskView>((view, line) => reduce(view, { kind: "line", line }), askedView("notes", "What?", null));

function againstSamples(): void {
  const manifest = v.parse(
    v.looseObject({
      cases: v.array(
        v.looseObject({ name: v.string(), kinds: v.array(v.string()), exit: v.number(), stdout: v.boolean() }),
      ),
      wire_hit_strict: record,
      invalid_events: v.array(record),
    }),
    JSON.parse(readFileSync(file, "utf8")),
  );

  test.each(manifest.cases.map((sample) => [sample.name, sample] as const))(
    "R-KB-77 %s is what the published schemas say, and our reader reads it",
    (name, { kinds, exit, stdout }) => {
      const events = linesOf(`${name}.stderr.ndjson`);
      const answers = linesOf(`${name}.stdout.ndjson`);
      expect(events.map(({ kind }) => kind)).toEqual(kinds);
      expect(answers).toHaveLength(stdout ? 1 : 0);
      for (const event of events) expect(publishedFault("answer_event", event)).toBeUndefined();
      for (const answer of answers) expect(publishedFault("answer", answer)).toBeUndefined();
      const tokens = events.flatMap(({ delta }) => (typeof delta === "string" ? [delta] : [])).join("");
      const open = read(events);
      expect(open).toMatchObject({ phase: "asking", final: kinds.includes("final"), ending: null });
      expect(read(events.filter(({ kind }) => kind !== "final")).text).toBe(tokens);
      expect(open.sources === null).toBe(!kinds.includes("retrieval_done"));
      // Hits and citations are the reference's raw ones, with flat fields alone: the strict schemas refuse them.
      const hits = events.flatMap((event) => (Array.isArray(event["hits"]) ? event["hits"] : []));
      expect(open.sources ?? []).toHaveLength(hits.length);
      for (const [index, hit] of hits.entries()) {
        expect(publishedFault("search_hit", hit)).toBeDefined();
        expect(open.sources?.[index]).toMatchObject({ docPath: "notes/rust.md", first: 10, last: 24 });
      }
      const ended = read([...events, ...answers]);
      const [answer] = answers;
      if (answer === undefined) expect([exit, ended.ending]).toEqual([2, null]);
      else {
        expect(ended).toMatchObject({ phase: "idle", text: answer["answer"], ending: { kind: "judged" } });
        expect(ended.ending).toHaveProperty("reason", exit === 0 ? null : answer["refusal_reason"]);
      }
    },
  );

  test("R-KB-77 a hit as the strict schema has it is one", () => {
    expect(publishedFault("search_hit", manifest.wire_hit_strict)).toBeUndefined();
    expect(publishedFault("citation", manifest.wire_hit_strict["citation"])).toBeUndefined();
  });

  /** What our own lines have beside what kebab's must have. */
  const ours = { sequence: 3, turn_index: null };

  test("R-KB-77 a token of the samples is one of ours, with our fields beside", () => {
    const [, token] = linesOf("success.stderr.ndjson");
    expect(v.is(answerEventSchema, { ...ours, ...token })).toBe(true);
  });

  test.each(manifest.invalid_events.map((event) => [JSON.stringify(event), event] as const))(
    "R-KB-77 %s is refused by a published schema, and by ours",
    (_text, event) => {
      expect(publishedFault("answer_event", event)).toBeDefined();
      expect(v.is(answerEventSchema, { ...ours, ...event })).toBe(false);
    },
  );
}
