// What an error may repeat of a request, and which framing a request asks for.
import { expect, test } from "vitest";
import { fieldProblem, issuesProblem, problemBody } from "../../src/http/problem.ts";
import { framingOf } from "../../src/http/read-from.ts";

test("R-ERR-2 a field's name is cut: an error is not as large as the request", () => {
  const path = `/clocks/${"k".repeat(100_000)}`;
  for (const problem of [
    fieldProblem(path, "is not a known field", "strict_object"),
    issuesProblem([{ path, message: "is not a known field", keyword: "strict_object" }]),
  ]) {
    expect(JSON.stringify(problemBody(problem)).length).toBeLessThan(2000);
  }
});

test.each([
  ["text/event-stream", "sse"],
  ["Text/Event-Stream;charset=utf-8", "sse"],
  ["application/x-ndjson", "ndjson"],
  ["text/event-stream;q=0.1, application/x-ndjson;q=0.9", "ndjson"],
  ["application/x-ndjson, text/event-stream", "sse"],
  ["text/event-stream;q=0", undefined],
  ["application/json", undefined],
  ["*/*", undefined],
  ["text/event-stream-like", undefined],
])("R-START-1 R-READ-4 Accept %s asks for %s", (accept, framing) => {
  expect(framingOf(new Request("http://localhost/", { headers: { accept } }))).toBe(framing);
});
