// What the console's ask view makes of a stream's lines: passages, text, endings in plain words; and of files and documents.
import { describe, expect, test } from "vitest";
import { askedView, type AskView, isLive, newAskView, reduce, shownText } from "../../src/console/ask/answer-view.ts";
import { explain, problemFrom, refusalWords } from "../../src/console/ask/ask-problem.ts";
import { factsWords, noticeOf, pageTitle, phaseWords } from "../../src/console/ask/ask-words.ts";
import { citedPiecesOf, markersIn } from "../../src/console/ask/cited-text.ts";
import { documentsIn, noDocuments, withMore } from "../../src/console/ask/documents.ts";
import { checkFile, sizeWords } from "../../src/console/ask/files.ts";
import { keepPosted, keepQuestion, keptPosted, keptQuestions } from "../../src/console/ask/kept-questions.ts";
import { passageFailed, passageOf } from "../../src/console/ask/passage.ts";
import { linesWords, sourcesIn } from "../../src/console/ask/sources.ts";
import { advanced, type UploadState } from "../../src/console/ask/uploads.ts";
import type { Fields } from "../../src/console/fields.ts";
import { isolated } from "../../src/console/wording.ts";

const citation = (path: string, start: number, end: number) => ({
  kind: "line",
  path,
  start,
  end,
  line: { start, end },
});
const hit = (doc: string, start: number, end: number, fields: Fields = {}) => ({
  doc_path: doc,
  doc_id: "d1",
  heading_path: ["Runs", "Cursors"],
  section_label: "Cursors",
  snippet: "## Cursors The cursor is a number.",
  citation: citation(doc, start, end),
  retrieval: { fusion_score: 0.5 },
  ...fields,
});
const event = (kind: string, fields: Fields): Fields => ({ schema_version: "answer_event.v1", kind, ...fields });
const found = event("retrieval_done", { hits: [hit("a.md", 3, 5), hit("b.md", 1, 1)] });
const token = (delta: string): Fields => event("token", { delta });
const answer = (fields: Fields): Fields => ({
  schema_version: "answer.v1",
  grounded: false,
  citations: [],
  model: { id: "a-model" },
  retrieval: { top_score: 0.12, score_gate: 0.3, chunks_used: 2 },
  usage: { prompt_tokens: 1000, completion_tokens: 200, latency_ms: 1500 },
  ...fields,
});
const final = (fields: Fields): Fields => event("final", { answer: answer(fields) });
const after = (lines: readonly Fields[], asked: AskView = askedView("notes", "What?", null)): AskView =>
  lines.reduce<AskView>(
    (view, line) => reduce(view, { kind: "line", line }),
    reduce(asked, { kind: "accepted", runId: "run_1" }),
  );

describe("R-KB-82 an answer", () => {
  test("grows with its tokens, and ends with the last line", () => {
    expect(phaseWords(askedView("notes", "What?", null))).toBe("Looking in your documents…");
    expect(phaseWords(after([]))).toBe("Looking in your documents…");
    expect(phaseWords(after([found]))).toBe("2 passages found. Waiting for the model…");
    const growing = after([found, token("A num"), token("ber [#1].")]);
    expect([growing.text, growing.phase, phaseWords(growing), growing.runId]).toEqual([
      "A number [#1].",
      "open",
      "Answering…",
      "run_1",
    ]);
    expect(pageTitle(growing)).toBe("… What? · Holdfast console");
    const whole = {
      answer: "A number [#1].",
      grounded: true,
      citations: [{ marker: "[1]", citation: citation("a.md", 3, 5) }],
    };
    const view = after([found, token("A num"), final(whole), answer(whole)]);
    expect(isLive(view)).toBe(false);
    expect(noticeOf(view)).toBeNull();
    expect(phaseWords(view)).toBe("Answered from 1 passage.");
    expect(factsWords(view)).toBe("a-model · 2 passages read · 1,200 tokens · 1.5 s");
    expect(view.ending).toMatchObject({ citations: [{ number: 1, docPath: "a.md" }] });
    expect(pageTitle(view)).toBe("What? · Holdfast console");
  });

  test("says which question of a conversation it is, and how it was looked for", () => {
    const refused = { refusal_reason: "no_chunks", answer: "", turn_index: 1, model: {} };
    expect(factsWords(after([found, answer(refused)]))).toBe("question 2 of the conversation");
    const near = answer({ ...refused, retrieval: { mode: "vector" } });
    expect(noticeOf(after([found, near]))?.words.join(" ")).toContain("is near your question");
    const hops = [
      { kind: "decompose", sub_queries: ["A?", "B?"] },
      { kind: "synthesize", sub_queries: [] },
    ];
    expect(after([found, answer({ answer: "A [#1]", grounded: true, hops })]).ending).toMatchObject({
      facts: { subQueries: ["A?", "B?"] },
    });
  });

  test("is what `final` says, where that is another text, and passes over what it does not know", () => {
    const view = after([
      found,
      token("Wrong."),
      { schema_version: "other.v1" },
      event("hop", {}),
      final({ answer: "Right [#2]." }),
    ]);
    expect(view.text).toBe("Right [#2].");
    expect(view.phase).toBe("open");
  });

  test.each([
    ["One [#1] and [#2].", ["One ", "1", " and ", "2", "."]],
    ["[#1][#2]", ["1", "2"]],
    ["[#3] [#0] [1] [#x] [#1", ["[#3] [#0] [1] [#x] [#1"]],
    ["See https://a.example/x [#1]", ["See ", "https://a.example/x", " ", "1"]],
    ["```\n[#1]\n```\n[#1] <b>", ["[#1]", "1", " <b>"]],
  ])("has markers where sources are named: %j", (text, pieces) => {
    expect(
      citedPiecesOf(text, 2).map((piece) => (piece.kind === "marker" ? String(piece.number) : piece.text)),
    ).toEqual(pieces);
  });

  test("names sources, whether they are there or not", () => {
    expect(markersIn("[#2] [#9] [#2] [#x]")).toEqual([2, 9]);
  });
});

describe("R-KB-83 passages", () => {
  test("have path, headings, snippet, score and lines, as older and newer hits say them", () => {
    expect(sourcesIn(found)[0]).toEqual({
      number: 1,
      docPath: "a.md",
      docId: "d1",
      headings: ["Runs", "Cursors"],
      snippet: "The cursor is a number.",
      score: 0.5,
      first: 3,
      last: 5,
      stale: false,
    });
    const flat = {
      citation: { path: "c.md", start: 7, end: 7 },
      score: 0.2,
      snippet: "# Not its heading",
      stale: true,
    };
    expect(sourcesIn({ hits: [flat, "no hit", {}] })).toMatchObject([
      {
        number: 1,
        docPath: "c.md",
        first: 7,
        last: 7,
        score: 0.2,
        snippet: "# Not its heading",
        headings: [],
        stale: true,
      },
      { number: 2, docPath: "", first: 1, last: 1 },
    ]);
    expect(sourcesIn(found).map(linesWords)).toEqual(["lines 3–5", "line 1"]);
  });

  test("say so when their document has changed or is gone", () => {
    const [source] = sourcesIn(found);
    if (source === undefined) throw new Error("there is a hit");
    const fetched = { text: "# A\r\n\r\nB\n", line_start: 3, doc_id: "d1" };
    expect(passageOf(fetched, source)).toEqual({
      kind: "shown",
      changed: false,
      lines: [
        { number: 3, text: "# A" },
        { number: 4, text: "" },
        { number: 5, text: "B" },
      ],
    });
    expect(passageOf({ ...fetched, doc_id: "d2" }, source)).toMatchObject({ changed: true });
    const gone = problemFrom(404, { code: "generic", message: "No.", details: { reason: "doc_not_found" } });
    expect(passageFailed(gone)).toMatchObject({ words: "The document is no longer in the collection." });
    expect(passageFailed(problemFrom(500, {}))).toMatchObject({ words: expect.stringContaining("answered 500") });
  });
});

describe("R-KB-84 an end is explained", () => {
  const near = ["a.md#L3-L5 0.12", "b.md#L1 0.11"];
  test.each<[string, readonly Fields[], string, RegExp]>([
    [
      "no_chunks",
      [event("retrieval_done", { hits: [] }), answer({ refusal_reason: "no_chunks", answer: "Nothing." })],
      "Nothing was found",
      /has a word of your question/,
    ],
    [
      "score_gate",
      [
        found,
        answer({
          refusal_reason: "score_gate",
          answer: ["Nothing.", ...near].join("\n"),
          citations: [
            { marker: null, citation: citation("a.md", 3, 5) },
            { marker: null, citation: citation("b.md", 1, 1) },
          ],
        }),
      ],
      "Nothing fits well enough",
      /score of 0\.12, and 0\.30 is asked for/,
    ],
    [
      "llm_self_judge",
      [found, token("I do not know."), answer({ refusal_reason: "llm_self_judge", answer: "I do not know." })],
      "The answer does not stand on your documents",
      /cites none of them/,
    ],
    [
      "llm_self_judge",
      [found, answer({ refusal_reason: "llm_self_judge", answer: "So [#1][#7]." })],
      "The answer does not stand on your documents",
      /cites \[7\], which it was not given/,
    ],
    [
      "llm_self_judge",
      [found, answer({ refusal_reason: "llm_self_judge", answer: " " })],
      "The answer does not stand on your documents",
      /said nothing/,
    ],
    [
      "llm_stream_aborted",
      [found, token("A"), answer({ refusal_reason: "llm_stream_aborted", answer: "A" })],
      "Stopped",
      /kept/,
    ],
    [
      "llm_stream_aborted",
      [found, token("A"), final({ answer: "A" }), answer({ refusal_reason: "llm_stream_aborted", answer: "A" })],
      "The answer was cut off",
      /length or a filter/,
    ],
    [
      "multi_hop_decompose_failed",
      [found, answer({ refusal_reason: "multi_hop_decompose_failed", answer: "" })],
      "The question could not be taken apart",
      /Several steps/,
    ],
    [
      "nli_verification_failed",
      [found, answer({ refusal_reason: "nli_verification_failed", answer: "" })],
      "The answer was withdrawn",
      /did not confirm/,
    ],
    [
      "a_new_reason",
      [found, answer({ refusal_reason: "a_new_reason", answer: "x" })],
      "There is no answer from your documents",
      /^$/,
    ],
  ])("%s", (reason, lines, heading, words) => {
    const notice = noticeOf(after(lines));
    expect(notice).toMatchObject({ heading, facts: reason });
    expect(notice?.words.join(" ")).toMatch(words);
  });

  test("near passages are shown as passages, not as text", () => {
    const lines = [...near, "a.md is near."];
    const citations = [
      { marker: null, citation: citation("a.md", 3, 5) },
      { marker: null, citation: citation("b.md", 1, 1) },
    ];
    const view = after([
      found,
      answer({ refusal_reason: "score_gate", answer: ["Nothing.", ...lines].join("\n"), citations }),
    ]);
    expect(shownText(view)).toBe("Nothing.\na.md is near.");
    expect(view.ending).toMatchObject({ citations: [{ number: 1 }, { number: 2 }] });
  });

  test.each<[Fields, number | null, string]>([
    [{ code: "model_unreachable", details: { retry_after_ms: 2000 } }, null, "The model cannot be reached"],
    [{ code: "model_not_pulled" }, null, "The model is not there"],
    [{ code: "timeout" }, null, "The model took too long"],
    [{ code: "generic", details: { error_class: "Internal" } }, null, "The answer failed"],
    [{ code: "generic", details: { failure_class: "auth" } }, null, "The model’s provider refuses this server"],
    [{ code: "generic", details: { failure_class: "permission" } }, null, "The model’s provider refuses this server"],
    [{ code: "generic", details: { failure_class: "quota" } }, null, "The model’s provider gives no more"],
    [{ code: "generic", details: { failure_class: "rate_limited" } }, null, "Too much at once"],
    [
      { code: "generic", details: { failure_class: "content_policy" } },
      null,
      "The model’s provider withholds an answer",
    ],
    [{ code: "generic", details: { failure_class: "context_length" } }, null, "There is too much of it"],
    [
      { code: "generic", details: { reason: "embedding_failed", failure_class: "auth" } },
      503,
      "The model’s provider refuses this server",
    ],
    [{ code: "generic", details: { reason: "embedding_failed" } }, 503, "The question could not be embedded"],
    [{ code: "not_indexed", details: { expected: "x" } }, 404, "The collection is empty"],
    [{ code: "not_indexed", hint: "Leave mode out." }, 404, "The server cannot search like this"],
    [{ code: "generic", details: { reason: "vector_limit" } }, 422, "The collection is too large for this search"],
    [{ code: "generic", details: { reason: "invalid_input", field: "k" } }, 400, "The question was refused"],
    [{ code: "generic", details: { reason: "unauthorized" } }, 401, "The server asks for a key"],
    [{ code: "generic", details: { reason: "rate_limited" } }, 429, "Too much at once"],
    [{ code: "generic", details: { reason: "not_found" } }, 404, "The answer is no longer kept"],
    [
      { code: "generic", details: { reason: "conflict", field: "conversation" } },
      409,
      "The last question is still being answered",
    ],
    [{ code: "generic", details: { reason: "too_large" } }, 413, "There is too much of it"],
    [{ code: "config_invalid" }, 500, "The server’s configuration is not valid"],
    [{ code: "io_error" }, 503, "The server is restarting"],
    [{}, 502, "The server answered 502"],
  ])("%j", (body, status, heading) => {
    expect(explain(problemFrom(status, body)).heading).toBe(heading);
  });

  test("a search that the server cannot do is told by the choice that the page has", () => {
    const body = { code: "not_indexed", hint: "Leave mode out." };
    expect(explain(problemFrom(404, body)).advice).toMatch(/“by words”/);
    expect(explain(problemFrom(404, body)).advice).not.toContain("Leave mode out");
  });

  test.each<[string, Fields, number | null, RegExp]>([
    ["may", { code: "generic", details: { failure_class: "truncated", retryable: true } }, null, /again in a moment/],
    ["will not", { code: "generic", details: { failure_class: "auth", retryable: false } }, null, /runs the server/],
    ["will not", { code: "model_unreachable", details: { retryable: false } }, null, /runs the server/],
    [
      "will not",
      { code: "generic", details: { failure_class: "invalid_request", retryable: false } },
      null,
      /runs the/,
    ],
  ])("it is said whether asking again %s help: %j", (_whether, body, status, advice) => {
    const said = explain(problemFrom(status, body)).advice;
    expect(said).toMatch(advice);
    expect(said.includes("in a moment")).toBe(advice.source.includes("moment"));
  });

  test("a failure after the start keeps what came before, and says what the server said", () => {
    const error = { schema_version: "error.v1", code: "timeout", message: "Too slow.", details: { source: "main" } };
    const view = after([found, token("So far")]);
    const failed = reduce(view, { kind: "line", line: error });
    expect([failed.text, failed.phase]).toEqual(["So far", "idle"]);
    expect(noticeOf(failed)).toMatchObject({
      kind: "bad",
      words: ["Too slow.", "Ask again in a moment."],
      facts: "timeout",
    });
  });
});

test.each([
  ["notes/a.md", "notes/a.md"],
  ["שלום.md", "\u2068שלום.md\u2069"],
  ["\u202egnp.exe.md", "\u2068\ufffdgnp.exe.md\u2069"],
  ["a\u2069\u202eb", "\u2068a\ufffd\ufffdb\u2069"],
])("R-KB-81 R-KB-83 a name among words turns none of them: %j", (name, shown) => {
  expect(isolated(name)).toBe(shown);
  const refused = answer({ refusal_reason: "no_chunks", answer: "" });
  expect(noticeOf(after([found, refused], askedView(name, "What?", null)))?.words[0]).toContain(`“${shown}”`);
});

test("R-KB-85 R-KB-86 a lost connection, a stop, and a stop that nobody heard", () => {
  const lost = reduce(after([found, token("A")]), { kind: "lost", retryInMs: 1_500 });
  expect(phaseWords(lost)).toBe("Connection lost. Trying again in 2 s…");
  const again = reduce(lost, { kind: "accepted", runId: null });
  expect([again.phase, again.text, again.runId]).toEqual(["open", "A", "run_1"]);
  const stopping = reduce(again, { kind: "stop_asked" });
  expect(reduce(stopping, { kind: "lost", retryInMs: 1 }).phase).toBe("stopping");
  expect(reduce(stopping, { kind: "accepted", runId: "run_1" }).phase).toBe("stopping");
  expect(reduce(stopping, { kind: "stop_failed" }).phase).toBe("open");
  const left = reduce(stopping, { kind: "given_up" });
  expect([left.phase, noticeOf(left)?.heading, phaseWords(left)]).toEqual(["idle", "Stopped", "Stopped."]);
  // What comes after the end changes nothing.
  expect(reduce(left, { kind: "line", line: token("x") })).toBe(left);
  expect(newAskView("notes")).toMatchObject({ phase: "idle", ending: null });
});

describe("R-KB-80 a file", () => {
  test.each([
    ["a.md", "", "text/markdown"],
    ["A.MARKDOWN", "text/plain", "text/markdown"],
    ["a/b.htm", "", "text/html"],
    ["notes.txt", "text/plain", "text/plain"],
    ["LICENSE", "", "text/plain"],
    ["data.json", "application/json", "text/plain"],
    ["paper.pdf", "application/pdf", "application/pdf"],
    ["archive.md.zip", "application/zip", "application/zip"],
  ])("%s (%s) is sent as %s", (name, type, contentType) => {
    expect(checkFile(name, type, 10)).toEqual({ send: true, contentType });
  });

  test("that is too large or empty is not sent", () => {
    expect(checkFile("a.md", "", 8 * 1024 * 1024)).toMatchObject({ send: true });
    expect(checkFile("a.md", "", 8 * 1024 * 1024 + 1)).toMatchObject({
      words: "Too large: a document may have 8 MiB.",
    });
    expect(checkFile("folder", "", 0)).toMatchObject({ send: false });
    expect([12, 2_048, 50_000, 3_000_000].map(sizeWords)).toEqual(["12 bytes", "2.0 KB", "49 KB", "2.9 MB"]);
  });

  test.each<[number, string, string, string | undefined]>([
    [413, "too_large", "Too large", undefined],
    [415, "unsupported_media_type", "Wrong type", undefined],
    [400, "invalid_input", "No text", "body"],
    [400, "invalid_input", "The file’s name cannot be used. No.", "docId"],
    [400, "invalid_input", "No.", "query:tags"],
    [422, "too_many_chunks", "Too many passages", undefined],
    [422, "collection_limit", "The collection is full", undefined],
    [401, "unauthorized", "The server asks for a key", undefined],
    [429, "rate_limited", "Too much at once", undefined],
    [500, "bug", "No.", undefined],
  ])("that is refused with %d %s says: %s", (status, reason, words, field) => {
    const problem = problemFrom(status, { code: "generic", message: "No.", details: { reason, field } });
    expect(refusalWords(problem)).toContain(words);
  });

  const line = (kind: string, fields: Fields = {}) =>
    ({ kind: "line", line: { schema_version: "ingest_progress.v1", kind, ...fields } }) as const;
  const report = (item: Fields) =>
    ({ kind: "line", line: { schema_version: "ingest_report.v1", items: [item] } }) as const;

  test("has a bar that never goes back and reaches its end", () => {
    const notices = [
      { kind: "accepted", runId: "run_1" },
      line("scan_started"),
      line("asset_started", { idx: 0, total: 1 }),
      line("asset_chunked", { n_chunks: 12 }),
      { kind: "lost", retryInMs: 500 },
      { kind: "accepted", runId: "run_1" },
      line("embed_batch_started"),
      line("embed_batch_finished", { n_chunks: 6, fraction_completed: 0.8 }),
      line("some_new_kind"),
      line("asset_finished"),
    ] as const;
    let state: UploadState = { kind: "going", fraction: null, words: "Sending…" };
    const fractions: number[] = [];
    for (const notice of notices) {
      state = advanced(state, notice);
      if (state.kind !== "going") throw new Error("it goes on");
      fractions.push(state.fraction ?? 0);
    }
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions.at(0)).toBeGreaterThan(0);
    expect(fractions.at(-1)).toBeLessThan(1);
    const done = advanced(state, report({ kind: "new", chunk_count: 12 }));
    expect(done).toEqual({ kind: "done", words: "Added: 12 passages." });
    expect(advanced(done, { kind: "lost", retryInMs: 1 })).toBe(done);
  });

  test.each<[Fields, string]>([
    [{ kind: "unchanged", chunk_count: 1 }, "Already there, unchanged: 1 passage."],
    [{ kind: "updated", chunk_count: 2 }, "Replaced: 2 passages."],
  ])("ends as the report says: %j", (item, words) => {
    expect(advanced({ kind: "waiting" }, report(item))).toEqual({ kind: "done", words });
  });

  test("is refused by an error in its stream, which comes last", () => {
    const error = {
      schema_version: "error.v1",
      code: "generic",
      message: "No.",
      details: { reason: "collection_limit" },
    };
    const aborted = advanced({ kind: "waiting" }, line("aborted"));
    expect(advanced(aborted, { kind: "line", line: error })).toMatchObject({
      kind: "refused",
      words: expect.stringContaining("The collection is full"),
    });
  });
});

test("R-KB-81 documents are listed a page at a time", () => {
  const page = (paths: readonly string[], next: string | null) =>
    documentsIn({
      doc_count: 3,
      next_after: next,
      documents: [...paths.map((path) => ({ doc_path: path, title: "T", byte_len: 5, chunk_count: 1 })), {}],
    });
  const first = page(["a", "b"], "b");
  expect(first.next).toBe("b");
  const all = withMore(first, page(["c"], null));
  expect([all.rows.map(({ docPath }) => docPath), all.next, all.count]).toEqual([["a", "b", "c"], null, 3]);
  expect(documentsIn({})).toEqual(noDocuments);
});

test("R-KB-87 what this tab asked is known after a reload, and what was posted is taken up once", () => {
  const kept = new Map<string, string>();
  const tab = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
  const question = (runId: string) => ({ runId, question: `Q ${runId}`, collection: "notes" });
  for (const runId of ["a", "b", "a"]) keepQuestion(tab, question(runId));
  expect(keptQuestions(tab)).toEqual([question("a"), question("b")]);
  for (let at = 0; at < 30; at++) keepQuestion(tab, question(`r${at}`));
  expect(keptQuestions(tab)).toHaveLength(20);
  keepPosted(tab, { body: { question: "Q" }, identity: "ask-1" });
  expect(keptPosted(tab)).toEqual({ body: { question: "Q" }, identity: "ask-1" });
  keepPosted(tab, null);
  expect(keptPosted(tab)).toBeNull();
  for (const name of kept.keys()) kept.set(name, "{broken");
  expect(keptQuestions(tab)).toEqual([]);
});
