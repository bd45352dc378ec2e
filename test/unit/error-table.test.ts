// The table of errors as providers really send them: what each is to a client, how long it asks us to wait, which word is kept.
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import type { Failure } from "../../schemas/failure.ts";
import { adapters } from "../../src/providers/index.ts";
import { errorClassOf, failurePolicies } from "../../src/run/fallback.ts";
import type { StreamFormat } from "../support/corpus/corpus-stream.ts";
import { formatOf } from "../support/corpus/index.ts";
import { readPackets } from "../support/corpus/reading.ts";
import { NOW, type ErrorRow, type ErrorTable } from "../support/error-table/error-row.ts";
import { errorTables } from "../support/error-table/index.ts";
import { bedrockException } from "../support/provider-bytes/bedrock-converse.ts";
import { jsonLine, sseEvent } from "../support/provider-bytes/framing.ts";
import { toBytes } from "../support/provider-bytes/splits.ts";

/** What the provider's answer, or its event after a good one, is to us. */
function failureOf(table: ErrorTable, [, where, body, , facts]: ErrorRow): Failure | undefined {
  if (where === "stream") {
    const verdict = readPackets(table.format, [eventOf(table.format, body)]).at(-1);
    return verdict?.type === "verdict" && verdict.verdict === "failed" ? verdict.failure : undefined;
  }
  return adapters[table.format].failure({
    status: where,
    headers: new Headers(typeof facts === "object" ? facts.headers : {}),
    body: typeof body === "string" ? body : JSON.stringify(body),
    now: NOW,
  });
}

function eventOf(format: StreamFormat, body: unknown): Uint8Array {
  const { framing } = formatOf({ format });
  if (framing === "sse") return toBytes(sseEvent(body));
  if (framing === "ndjson") return toBytes(jsonLine(body));
  const { exception, message } = v.parse(v.object({ exception: v.string(), message: v.string() }), body);
  return bedrockException(exception, message);
}

for (const table of errorTables) {
  describe(`R-PROV-3 R-PROV-4 R-PROV-13 R-PROV-14 R-FALL-9 errors of ${table.title}`, () => {
    test.each(table.rows.map((row) => ({ what: row[0], where: row[1], is: row[3].failureClass, row })))(
      "$where $what: $is",
      ({ where, row }) => {
        const [, , , kind, facts = {}] = row;
        const { code, waitMs } = typeof facts === "string" ? { code: facts, waitMs: undefined } : facts;
        const failure = failureOf(table, row);
        const { message, httpStatus, failureClass, ...rest } = failure ?? { message: "", failureClass: "none" };
        expect({
          failureClass,
          ...(failure !== undefined && {
            errorClass: errorClassOf(failure, false),
            retryable: failurePolicies[failure.failureClass].retryable,
          }),
          ...rest,
        }).toEqual({
          ...kind,
          ...(code !== undefined && { providerCode: code }),
          ...(waitMs !== undefined && { retryAfterMs: waitMs }),
        });
        expect(message).toMatch(/^(The provider|The request|A gateway) [a-zA-Z' ]+( \(HTTP \d{3}\))?\.$/);
        // A numeric code inside a 200 stands for the status that was meant.
        if (where !== "stream" && where !== 200) expect(httpStatus).toBe(where);
      },
    );
  });
}

test("R-PROV-14 no two rows are the same, and there are enough of them", () => {
  const rows = errorTables.flatMap((table) =>
    table.rows.map(([, where, body, , facts]) =>
      JSON.stringify([table.format, where, body, typeof facts === "object" ? facts.headers : undefined]),
    ),
  );
  console.log(`rows of the error table: ${rows.length}`);
  expect(rows.filter((row, index) => rows.indexOf(row) !== index)).toEqual([]);
  expect(rows.length).toBeGreaterThanOrEqual(200);
});
