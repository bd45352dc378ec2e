// The object of a collection inside workerd: what a put writes, how a batch that fails leaves no trace, and how good its searches are.
import { env, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { NewDocument, SearchAsk } from "../../schemas/collection.ts";
import { corpus, questions } from "../support/kebab-corpus.ts";

const noFilters = {
  tags: undefined,
  lang: undefined,
  pathGlob: undefined,
  trustMin: undefined,
  media: undefined,
  ingestedAfter: undefined,
  docId: undefined,
};

const ask = (query: string, more: Partial<SearchAsk> = {}): SearchAsk => ({
  query,
  k: 8,
  snippetChars: 220,
  maxTokens: undefined,
  cursor: undefined,
  filters: noFilters,
  trace: false,
  staleMs: 0,
  ...more,
});

const given = (path: string, source: string, more: Partial<NewDocument> = {}): NewDocument => ({
  path,
  docId: `${path.length}`.padStart(32, "0"),
  fingerprint: `${path} ${source}`,
  media: "markdown",
  words: {},
  source,
  bytes: source.length,
  ...more,
});

const collectionOf = (name: string) => env.COLLECTION.getByName(`local/${name}`);

/** Rows of all tables that hold anything of a document. */
const rowsOf = (name: string): Promise<number[]> =>
  runInDurableObject(collectionOf(name), (_object, state) =>
    ["document", "source", "chunk", "terms"].map((table) =>
      Number(state.storage.sql.exec(`SELECT COUNT(*) AS count FROM ${table}`).one()["count"]),
    ),
  );

async function found(name: string, search: SearchAsk) {
  const answer = await collectionOf(name).search(search);
  if (!answer.found) throw new Error(answer.refused);
  return answer.hits;
}

test("R-KB-25 nine in ten questions have their passage among the first eight hits", async () => {
  const documents = Object.entries(corpus).map(([path, source]) => given(path, source));
  expect(await collectionOf("library").put(documents)).toMatchObject({ put: true });
  const missed: string[] = [];
  let first = 0;
  for (const [question, path, heading] of questions) {
    const hits = await found("library", ask(question));
    const place = hits.findIndex(({ doc_path, section_label }) => doc_path === path && section_label === heading);
    if (place < 0) missed.push(question);
    if (place === 0) first++;
  }
  const recall = 1 - missed.length / questions.length;
  console.log(
    `lexical recall@8 ${recall.toFixed(3)}, first hit ${(first / questions.length).toFixed(3)}, of ${questions.length} questions; missed: ${missed.join(" ")}`,
  );
  expect(questions.length).toBeGreaterThanOrEqual(50);
  expect(recall).toBeGreaterThanOrEqual(0.9);
});

test("R-KB-1 an equal document writes no row", async () => {
  const name = "unchanged";
  const documents = [given("a.md", "# A\nalpha"), given("b.md", "# B\nbeta")];
  await collectionOf(name).put(documents);
  const written = await runInDurableObject(collectionOf(name), async (object, state) => {
    const before = state.storage.sql.exec("SELECT revision, last_ingest_at FROM collection").one();
    const size = state.storage.sql.databaseSize;
    const answer = await object.put(documents);
    const after = state.storage.sql.exec("SELECT revision, last_ingest_at FROM collection").one();
    return { before, after, grown: state.storage.sql.databaseSize - size, answer };
  });
  expect(written.after).toEqual(written.before);
  expect(written.grown).toBe(0);
  expect(written.answer).toMatchObject({ put: true, documents: [{ result: "unchanged" }, { result: "unchanged" }] });
});

test("R-KB-5 without a title of its own a document has that of its first heading, whatever stands above, else its file's name", async () => {
  const name = "titles";
  const documents = [
    given("a/intro.md", "before it\n\n## First\n\nbody\n\n# Second\n\nmore"),
    given("b/code.md", "<!-- generated -->\n\n```\n# no heading\n```\n\nReal\n====\n\nbody"),
    given("c/none.md", "# \n\nbody"),
    given("d/page.html", "<p>before</p><h2>Section</h2><p>after</p>", { media: "html" }),
    given("e/own.md", "---\ntitle: Own\n---\nbefore\n\n# First"),
  ];
  await collectionOf(name).put(documents);
  const page = await collectionOf(name).page("", 10);
  expect(page?.documents.map(({ title }) => title)).toEqual(["First", "Real", "none.md", "Section", "Own"]);
});

test("R-KB-9 what would be too much leaves the collection as it was", async () => {
  const name = "full";
  await collectionOf(name).put([given("a.md", "# A\nalpha")]);
  const before = await rowsOf(name);
  const many = Array.from({ length: 10_000 }, (_, index) => given(`d${index}`, ""));
  expect(await collectionOf(name).put(many)).toEqual({
    put: false,
    refused: "collection_full",
    what: "documents",
    limit: 10_000,
  });
  const large = given("large", "text", { bytes: 100 * 1024 * 1024 });
  expect(await collectionOf(name).put([given("b.md", "beta"), large])).toMatchObject({ put: false, what: "bytes" });
  expect(await collectionOf(name).put([given("b.md", "beta"), given("c.md", "# c\n".repeat(20_001))])).toMatchObject({
    put: false,
    refused: "too_many_chunks",
    path: "c.md",
  });
  expect(await rowsOf(name)).toEqual(before);
  expect(await collectionOf(name).put(many.slice(1))).toMatchObject({ put: true });
});

test("R-KB-12 what replaces or forgets a document leaves nothing of it in the index", async () => {
  const name = "replaced";
  await collectionOf(name).put([given("a.md", "# A\nalpha\n# B\nbeta"), given("b.md", "gamma")]);
  expect(await rowsOf(name)).toEqual([2, 2, 3, 3]);
  await collectionOf(name).put([given("a.md", "delta")]);
  expect(await rowsOf(name)).toEqual([2, 2, 2, 2]);
  expect(await found(name, ask("alpha beta"))).toEqual([]);
  await collectionOf(name).remove("a.md");
  expect(await rowsOf(name)).toEqual([1, 1, 1, 1]);
  expect((await found(name, ask("gamma delta"))).map(({ doc_path }) => doc_path)).toEqual(["b.md"]);
});

test("R-KB-18 a document is stale once it was not updated for longer than is said", async () => {
  const name = "stale";
  await collectionOf(name).put([given("a.md", "alpha")]);
  await runInDurableObject(collectionOf(name), (_object, state) => {
    state.storage.sql.exec("UPDATE document SET updated_at = updated_at - 5000");
  });
  const staleness = async (staleMs: number) => (await found(name, ask("alpha", { staleMs })))[0]?.stale;
  expect([await staleness(0), await staleness(4000), await staleness(600_000)]).toEqual([false, true, false]);
  expect((await collectionOf(name).breakdown(4000)).stale).toBe(1);
});

test("R-KB-16 a term that is longer than the index keeps counts, wherever it is cut", async () => {
  const name = "long";
  const word = `a${"\u{10330}".repeat(40)}`;
  await collectionOf(name).put([given("a.md", `# Title\n\n${word} hello`), given("b.md", `${"b".repeat(200)} hello`)]);
  for (const query of [word, "b".repeat(200)]) {
    expect((await found(name, ask(query))).map(({ score }) => score >= 0.6)).toEqual([true]);
  }
});

test("R-KB-16 a chunk with all of a question is found among many that have its common terms only", async () => {
  const name = "crowd";
  const crowd = Array.from({ length: 400 }, (_, index) => given(`d${index}`, `rare rare rare rare word${index}`));
  const filler = Array.from({ length: 600 }, (_, index) => given(`f${index}`, `common plain filler${index}`));
  const whole = given("whole", `common plain rare ${"padding ".repeat(400)}`);
  await collectionOf(name).put([...crowd, ...filler, whole]);
  const hits = await found(name, ask("common plain rare"));
  expect(hits[0]?.doc_path).toBe("whole");
});
