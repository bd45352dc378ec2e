// The vectors of a collection inside workerd: what is embedded and kept, what is refused, what is found, and that collections of before stay.
import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, inject, test } from "vitest";
import type { NewDocument, SearchAsk } from "../../schemas/collection.ts";
import type { EmbedPlan } from "../../schemas/embedding.ts";
import { collectionEmbedding } from "../../durable-objects/collection-embedding.ts";
import { collectionIngest, type CollectionIngest } from "../../durable-objects/collection-ingest.ts";
import { collectionStore, PLACES } from "../../durable-objects/collection-store.ts";
import { collectionTerms } from "../../durable-objects/collection-terms.ts";
import { collectionVectors } from "../../durable-objects/collection-vectors.ts";
import { askEmbeddings } from "../../durable-objects/embed-call.ts";
import { readCursor } from "../../src/kebab/cursor.ts";

const plan = (fields: Partial<EmbedPlan> = {}, path = "embed"): EmbedPlan => ({
  version: "embed/words",
  target: { id: "embed", adapter: "openai-chat", baseUrl: `${inject("providerOrigin")}/${path}`, model: "words" },
  embedder: "openai-chat",
  retries: 0,
  headersMs: 5000,
  totalMs: 20_000,
  ...fields,
});
/** Nobody is there. */
const dead = (): EmbedPlan => ({ ...plan(), target: { ...plan().target, baseUrl: "http://127.0.0.1:9" } });

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
  mode: "vector",
  embed: plan(),
  k: 8,
  snippetChars: 220,
  maxTokens: undefined,
  cursor: undefined,
  filters: noFilters,
  trace: false,
  staleMs: 0,
  ...more,
});

const given = (path: string, source: string): NewDocument => ({
  path,
  docId: path.padStart(32, "0").slice(-32),
  fingerprint: `${path} ${source}`,
  media: "markdown",
  words: {},
  source,
  bytes: source.length,
});

const collectionOf = (name: string) => env.COLLECTION.getByName(`local/${name}`);

async function search(name: string, wanted: SearchAsk) {
  return collectionOf(name).search(wanted);
}

async function found(name: string, wanted: SearchAsk) {
  const answer = await search(name, wanted);
  if (!answer.found) throw new Error(JSON.stringify(answer));
  return answer;
}

const pathsOf = ({ hits }: Awaited<ReturnType<typeof found>>): string[] => hits.map(({ doc_path }) => doc_path);

const vectorRows = (name: string) =>
  runInDurableObject(collectionOf(name), (_object, state) =>
    Number(state.storage.sql.exec("SELECT COUNT(*) AS count FROM vectors").one()["count"]),
  );

const library = [
  given("cars.md", "# Car\nwheels of a car"),
  given("cats.md", "# Cat\nthe cat sleeps"),
  given("soup.md", "# Soup\nhot tomato soup"),
];

async function embeddedTexts(containing: string): Promise<string[][]> {
  const response = await fetch(`${inject("providerOrigin")}/embed/calls`);
  const calls: string[][] = await response.json();
  return calls.filter((texts) => texts.some((text) => text.includes(containing)));
}

test("R-KB-45 what means the same is found without a word in common, by cosine", async () => {
  const name = "meaning";
  expect(await collectionOf(name).put(library, plan())).toMatchObject({ put: true });
  const { hits, embedding, nextCursor } = await found(name, ask("automobile"));
  expect(hits.map(({ doc_path }) => doc_path)[0]).toBe("cars.md");
  expect(hits).toHaveLength(3);
  // "Car\n# Car\nwheels of a car" has car three times, and three other words.
  expect(hits[0]?.score).toBeCloseTo(3 / Math.sqrt(9 + 3), 5);
  expect(hits[0]).toMatchObject({
    score_kind: "cosine",
    embedding_model: "words",
    retrieval: { method: "vector", lexical_score: null, lexical_rank: null, vector_rank: 1 },
  });
  expect(hits[0]?.retrieval.vector_score).toBe(hits[0]?.score);
  expect(embedding).toEqual({ id: "words", provider: "embed", dimensions: 64 });
  expect(nextCursor).toBeNull();
  expect(pathsOf(await found(name, ask("automobile", { mode: "lexical" })))).toEqual([]);
  expect((await collectionOf(name).breakdown(0)).embedding).toBe("embed/words");
});

test("R-KB-45 equal vectors are in the order of the chunks' names, over pages too", async () => {
  const name = "equal";
  await collectionOf(name).put(
    Array.from({ length: 7 }, (_, index) => given(`d${index}.md`, `same words 1${index}`)),
    plan(),
  );
  const all = await found(name, ask("words", { k: 7 }));
  const names = all.hits.map(({ chunk_id }) => chunk_id);
  expect(names).toEqual(names.toSorted());
  const first = await found(name, ask("words", { k: 4 }));
  const rest = await found(name, ask("words", { k: 4, cursor: readCursor(first.nextCursor ?? "") }));
  expect([...first.hits, ...rest.hits].map(({ chunk_id }) => chunk_id)).toEqual(names);
  expect(rest.hits[0]?.rank).toBe(5);
});

test("R-KB-46 R-KB-47 a hybrid search fuses both lists, filtered alike, and its trace shows them", async () => {
  const name = "hybrid";
  await collectionOf(name).put([...library, given("drive.md", "# Car\nautomobile automobile")], plan());
  const { hits, trace, embedding } = await found(name, ask("car", { mode: "hybrid", trace: true }));
  // Each is first in one list and second in the other: the lexical one decides.
  expect(hits.slice(0, 2).map(({ doc_path, score_kind }) => [doc_path, score_kind])).toEqual([
    ["cars.md", "rrf"],
    ["drive.md", "rrf"],
  ]);
  for (const { score } of hits.slice(0, 2)) expect(score).toBeCloseTo((1 / 61 + 1 / 62) / (2 / 61), 6);
  expect(hits.map(({ retrieval }) => retrieval.lexical_rank)).toEqual([1, 2, null, null]);
  expect(hits.map(({ retrieval }) => retrieval.vector_rank)).toEqual([2, 1, 3, 4]);
  expect(hits[2]?.retrieval).toMatchObject({ method: "hybrid", lexical_score: null, vector_rank: 3 });
  expect(hits[2]?.score).toBeCloseTo(61 / 63 / 2, 6);
  expect(trace?.lexical).toHaveLength(2);
  expect(trace?.vector.map(({ rank }) => rank)).toEqual([1, 2, 3, 4]);
  expect(trace?.rrf_inputs).toEqual(
    hits.map(({ chunk_id, retrieval }) => ({
      chunk_id,
      lexical_rank: retrieval.lexical_rank,
      vector_rank: retrieval.vector_rank,
      fusion_score: retrieval.fusion_score,
    })),
  );
  expect(embedding).toMatchObject({ id: "words" });
  for (const mode of ["vector", "hybrid"] as const) {
    const filters = { ...noFilters, pathGlob: "c*.md" };
    expect(pathsOf(await found(name, ask("kitten car", { mode, filters }))).toSorted()).toEqual(["cars.md", "cats.md"]);
    expect(pathsOf(await found(name, ask("car", { mode, filters: { ...noFilters, lang: "xx" } })))).toEqual([]);
  }
});

test("R-KB-24 a lexical search asks no model", async () => {
  const name = "lexical";
  await collectionOf(name).put(library);
  expect(pathsOf(await found(name, ask("wheels", { mode: "lexical", embed: dead() })))).toEqual(["cars.md"]);
  expect(await search(name, ask("wheels", { embed: dead() }))).toMatchObject({ refused: "not_embedded" });
});

test("R-KB-40 documents that cannot be embedded are not kept, nor is any of their request", async () => {
  const name = "poisoned";
  const failed = { put: false, refused: "embedding_failed", targetId: "embed" };
  const many = Array.from({ length: 70 }, (_, index) => given(`d${index}.md`, `fine ${index}`));
  expect(await collectionOf(name).put([...many, given("bad.md", "poison")], plan())).toMatchObject({
    ...failed,
    failure: { failureClass: "invalid_request" },
  });
  expect(await collectionOf(name).page("", 10)).toBeUndefined();
  expect(await collectionOf(name).put(library, dead())).toMatchObject({
    ...failed,
    failure: { failureClass: "connect" },
  });
  expect(await collectionOf(name).put(library, plan({ dimensions: 32 }, "quick"))).toMatchObject(failed);
  expect(await collectionOf(name).put(library, plan())).toMatchObject({ put: true });
  expect(await search(name, ask("car", { embed: dead() }))).toMatchObject({
    found: false,
    refused: "embedding_failed",
    targetId: "embed",
    failure: { failureClass: "connect" },
  });
});

test("R-KB-41 chunks go below their headings, in batches of at most 64", async () => {
  const name = "batches";
  const sections = Array.from({ length: 70 }, (_, index) => `## Part ${index}\nbatchword`).join("\n");
  await collectionOf(name).put([given("a.md", `# Top\n${sections}`)], plan());
  const calls = await embeddedTexts("batchword");
  expect(calls.map(({ length }) => length)).toEqual([64, 7]);
  expect(calls[0]?.[1]).toBe("Top > Part 0\n## Part 0\nbatchword");
});

test("R-KB-44 what was kept without vectors, or with others, is refused until it is put again", async () => {
  const name = "again";
  await collectionOf(name).put(library);
  const refused = (kept: string, expected = "embed/words") => ({
    found: false,
    refused: "not_embedded",
    expected,
    kept,
  });
  expect(await search(name, ask("car"))).toEqual(refused("none"));
  const [cars, ...others] = library;
  if (cars === undefined) throw new Error("the library is empty");
  const put = async (documents: NewDocument[], embed: EmbedPlan) => {
    const answer = await collectionOf(name).put(documents, embed);
    return answer.put ? answer.documents.map(({ result }) => result) : answer;
  };
  expect(await put([cars], plan())).toEqual(["updated"]);
  expect(await put([cars], plan())).toEqual(["unchanged"]);
  expect(await search(name, ask("car"))).toEqual(refused("embed/words, 1 of 3 chunks"));
  expect(await put(library, plan())).toEqual(["unchanged", "updated", "updated"]);
  expect(pathsOf(await found(name, ask("vehicle")))[0]).toBe("cars.md");
  const other = plan({ version: "embed/words/32", dimensions: 32 });
  expect(await search(name, ask("car", { embed: other }))).toEqual(refused("embed/words", "embed/words/32"));
  expect(await put(others, other)).toEqual(["updated", "updated"]);
  expect(await vectorRows(name)).toBe(2);
  expect(await search(name, ask("car"))).toEqual(refused("embed/words/32"));
  expect(await put(library, other)).toEqual(["updated", "unchanged", "unchanged"]);
  expect((await found(name, ask("vehicle", { embed: other }))).embedding).toMatchObject({ dimensions: 32 });
  // The model has changed below its name.
  expect(await search(name, ask("car", { embed: { ...other, dimensions: 16 } }))).toMatchObject({
    refused: "embedding_failed",
    failure: { failureClass: "malformed" },
  });
});

test("R-KB-44 what is replaced or forgotten leaves no vectors, and what is held follows", async () => {
  const name = "replaced";
  await collectionOf(name).put(library, plan());
  expect(pathsOf(await found(name, ask("car", { k: 1 })))).toEqual(["cars.md"]);
  await collectionOf(name).put([given("cars.md", "# Boat\nsails")], plan());
  await collectionOf(name).put([given("new.md", "car")], plan());
  expect(pathsOf(await found(name, ask("vehicle", { k: 1 })))).toEqual(["new.md"]);
  await collectionOf(name).remove("new.md");
  expect(await vectorRows(name)).toBe(3);
  expect((await found(name, ask("sails", { k: 8 }))).hits).toHaveLength(3);
  await collectionOf(name).forget();
  expect(await search(name, ask("car"))).toMatchObject({ refused: "no_collection" });
  await collectionOf(name).put(library);
  expect(await search(name, ask("car"))).toMatchObject({ refused: "not_embedded", kept: "none" });
});

test("R-KB-43 a collection of more than 5,000 chunks keeps documents without vectors", async () => {
  const name = "large";
  await collectionOf(name).put(library, plan());
  const count = (chunks: number) =>
    runInDurableObject(collectionOf(name), (_object, { storage }) => {
      storage.sql.exec("UPDATE collection SET chunks = ?", chunks);
    });
  await count(4999);
  const more = given("more.md", "# one\n# two\n");
  // Nobody is asked: the model is not there.
  expect(await collectionOf(name).put([more], dead())).toMatchObject({ put: true });
  expect(await search(name, ask("car"))).toEqual({ found: false, refused: "vector_limit", limit: 5000 });
  expect(await search(name, ask("car", { mode: "hybrid" }))).toMatchObject({ refused: "vector_limit" });
  expect(pathsOf(await found(name, ask("wheels", { mode: "lexical" })))).toEqual(["cars.md"]);
  const answer = await collectionOf(name).put([more], dead());
  expect(answer.put && answer.documents[0]?.result).toBe("unchanged");
  await collectionOf(name).remove("more.md");
  await count(3);
  expect(pathsOf(await found(name, ask("vehicle", { k: 1 })))).toEqual(["cars.md"]);
});

test("R-KB-44 a collection that was kept before there were vectors is kept, and is embedded when it is put again", async () => {
  const name = "before";
  await collectionOf(name).put(library);
  await runInDurableObject(collectionOf(name), (_object, { storage }) => {
    for (const statement of [
      "DROP TABLE vectors",
      "ALTER TABLE collection DROP COLUMN embedding",
      "ALTER TABLE collection DROP COLUMN dimensions",
      "ALTER TABLE collection DROP COLUMN epoch",
      "UPDATE collection SET format = 1",
    ]) {
      storage.sql.exec(statement);
    }
  });
  await evictDurableObject(collectionOf(name));
  const earlier = { offset: 0, revision: 1, epoch: 0 };
  expect(pathsOf(await found(name, ask("wheels", { mode: "lexical", cursor: earlier })))).toEqual(["cars.md"]);
  expect(await search(name, ask("car"))).toMatchObject({ refused: "not_embedded", kept: "none" });
  expect(await collectionOf(name).put(library, plan())).toMatchObject({ put: true });
  await evictDurableObject(collectionOf(name));
  expect(pathsOf(await found(name, ask("vehicle", { k: 1 })))).toEqual(["cars.md"]);
});

test("R-KB-40 what others change while documents are embedded is looked at again, and all of a request is kept", async () => {
  const [cars, cats] = library;
  if (cars === undefined || cats === undefined) throw new Error("the library is too small");
  const seen = await runInDurableObject(env.COLLECTION.getByName("local/meanwhile"), async (_object, { storage }) => {
    const real = collectionEmbedding(env);
    const embedded: string[][] = [];
    let meanwhile: (ingest: CollectionIngest) => void = () => undefined;
    const vectors = collectionVectors(storage, PLACES);
    const ingest: CollectionIngest = collectionIngest({
      storage,
      store: collectionStore(storage),
      terms: collectionTerms(storage, PLACES),
      vectors,
      embedding: {
        ...real,
        documents: async (by, prepared, watch) => {
          embedded.push(prepared.map(({ given: { path } }) => path));
          const answer = await real.documents(by, prepared, watch);
          meanwhile(ingest);
          meanwhile = () => undefined;
          return answer;
        },
      },
    });
    await ingest.put([cars], undefined, plan());
    meanwhile = (other) => other.remove(cars.path);
    const answer = await ingest.put([cars, cats], undefined, plan());
    return { embedded, results: answer.put && answer.documents.map(({ result }) => result), count: vectors.count() };
  });
  expect(seen).toEqual({ embedded: [["cars.md"], ["cats.md"], ["cars.md"]], results: ["new", "new"], count: 2 });
});

test("R-KB-1 a document that several clients put at once, and that is embedded, is kept once", async () => {
  const name = "at-once";
  const answers = await Promise.all(Array.from({ length: 8 }, () => collectionOf(name).put(library, plan())));
  const results = answers.map((answer) => answer.put && answer.documents.map(({ result }) => result));
  expect(results.filter((each) => each && each.every((result) => result === "new"))).toHaveLength(1);
  expect(results.filter((each) => each && each.every((result) => result === "unchanged"))).toHaveLength(7);
  expect((await collectionOf(name).breakdown(0)).revision).toBe(1);
  expect(pathsOf(await found(name, ask("vehicle", { k: 1 })))).toEqual(["cars.md"]);
});

test("R-KB-41 Workers AI is asked through its binding, where the target has no address", async () => {
  const asked: unknown[] = [];
  const bound = {
    ...env,
    AI: {
      run(model: string, inputs: unknown) {
        asked.push([model, inputs]);
        return { shape: [1, 2], data: [[3, 4]] };
      },
    },
  };
  const target = { id: "edge", adapter: "workers-ai", model: "@cf/baai/bge-m3" } as const;
  const edge: EmbedPlan = { ...plan(), target, embedder: "workers-ai" };
  const ask = { texts: ["one"], purpose: "document" } as const;
  const answer = await askEmbeddings(bound, edge, ask, Date.now() + 5000);
  expect("numbers" in answer && [...answer.numbers].map((number) => number.toFixed(2))).toEqual(["0.60", "0.80"]);
  expect(asked).toEqual([["@cf/baai/bge-m3", { text: ["one"] }]]);
  expect(await askEmbeddings(env, edge, ask, Date.now() + 5000)).toMatchObject({ failureClass: "auth" });
  const secret = { ...plan(), target: { ...plan().target, keyVar: "NO_SUCH_SECRET" } };
  expect(await askEmbeddings(env, secret, ask, Date.now() + 5000)).toMatchObject({ failureClass: "auth" });
});

test("R-KB-45 a document's vectors may take several rows, and are found whether they are held or not", async () => {
  const name = "rows";
  const wide = plan({ version: "embed/words/4096", dimensions: 4096 });
  const sections = Array.from({ length: 100 }, (_, index) => `## ${index}\n${index === 95 ? "zebra" : "horse"}`);
  await collectionOf(name).put([given("a.md", sections.join("\n")), ...library], wide);
  expect(await vectorRows(name)).toBe(5);
  const { hits } = await found(name, ask("zebra", { embed: wide, k: 2 }));
  expect(hits.map(({ section_label, score }) => [section_label, Math.round(score)])[0]).toEqual(["95", 1]);
  const [held, read] = await runInDurableObject(collectionOf(name), (_object, { storage }) =>
    [undefined, 0].map((maxHeld) => {
      const vectors = collectionVectors(storage, PLACES, maxHeld);
      const query = Float32Array.from({ length: 4096 }, (_, index) => (index % 7) / 300);
      return [vectors.nearest(query, 500), vectors.nearest(query, 500, new Set([1]))];
    }),
  );
  expect(held?.map(({ length }) => length)).toEqual([103, 100]);
  expect(read).toEqual(held);
});
