// However a provider writes its tokens from one event to the next, what is read ahead is what is read byte by byte.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ProviderEvent } from "../../schemas/provider.ts";
import { adapters } from "../../src/providers/index.ts";
import { splitBytes, toBytes } from "../support/provider-bytes/splits.ts";

type Format = "openai-chat" | "anthropic-messages";

function read(format: Format, packets: readonly Uint8Array[], maxEvent: number): ProviderEvent[] {
  const reader = adapters[format].reader({ maxEvent });
  return [...packets.flatMap((packet) => reader.feed(packet)), ...reader.end()];
}

/** Between the pieces of a text stands what ends a line of it, or nothing. */
const bodies: Record<Format, (member: string) => [head: string, pieces: string[]]> = {
  "openai-chat": (member) => ["", ['{"id":"c","choices":[{"index":0,"delta":', `{"${member}":"~"}}`, "]}"]],
  "anthropic-messages": (member) => [
    "event: content_block_delta\n",
    ['{"type":"content_block_delta","index":0,"delta":', `{"type":"${member}_delta","${member}":"~"}`, "}"],
  ],
};

const value = fc.oneof(
  fc.constantFrom("a", "Paris", "é", '\\"', "\\n", "\\ud83d\\ude00", "", "x".repeat(60), "{", "data: "),
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text).slice(1, -1)),
);
const plain = { start: "data: ", between: "", end: "\n\n" };
const starts = fc.constantFrom("data: ", "data:", "id: 1\ndata: ", ": hb\ndata: ", "event: x\ndata: ");
const betweens = fc.constantFrom(" ", "\ndata: ", "\n", "\r\ndata: ", "\n: hb\n");
const ends = fc.constantFrom("\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\ndata: \n\n", "\n");
/** Mostly one thing at a time is odd: what comes next may then be taken for it. */
const spelling = fc.oneof(
  { weight: 4, arbitrary: fc.constant(plain) },
  { weight: 3, arbitrary: betweens.map((between) => ({ ...plain, between })) },
  { weight: 1, arbitrary: starts.map((start) => ({ ...plain, start })) },
  { weight: 1, arbitrary: ends.map((end) => ({ ...plain, end })) },
  { weight: 1, arbitrary: fc.record({ start: starts, between: betweens, end: ends }) },
);

test.each<[Format, string[]]>([
  ["openai-chat", ["content", "reasoning_content"]],
  ["anthropic-messages", ["text", "thinking"]],
])("R-PROV-2 %s: any spelling of any tokens, in any split", (format, members) => {
  const [first = ""] = members;
  const member = fc.oneof(
    { weight: 3, arbitrary: fc.constant(first) },
    { weight: 1, arbitrary: fc.constantFrom(...members) },
  );
  const event = fc.record({ member, value, spelling });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 10 }),
      fc.array(fc.nat({ max: 900 }), { maxLength: 4 }),
      fc.constantFrom(130, 160, 100_000),
      (events, cuts, limit) => {
        const wire = events.map((one) => {
          const [head, pieces] = bodies[format](one.member);
          const text = pieces.join(one.spelling.between).replace("~", () => one.value);
          return head + one.spelling.start + text + one.spelling.end;
        });
        const bytes = toBytes(wire.join(""));
        const byBytes = read(
          format,
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
          limit,
        );
        expect(read(format, [bytes], limit)).toEqual(byBytes);
        expect(read(format, splitBytes(bytes, cuts), limit)).toEqual(byBytes);
      },
    ),
    { numRuns: 4000 },
  );
});
