// A search in a collection: candidates from the index, from the vectors or from both, scored and cut to what was asked for. Reads only.
import type { SearchAnswer, SearchAsk, SearchMode, SearchRefusal } from "../schemas/collection.ts";
import type { KebabHit, SearchTrace } from "../schemas/dialects/kebab.ts";
import { fitBudget } from "../src/kebab/budget.ts";
import { cursorText } from "../src/kebab/cursor.ts";
import { documentFilter, hasFilters } from "../src/kebab/filters.ts";
import { fuse, placed, type Found, type Place, type Ranked } from "../src/kebab/fusion.ts";
import { hitOf } from "../src/kebab/hits.ts";
import { lexicalScore } from "../src/kebab/score.ts";
import { snippetOf } from "../src/kebab/snippet.ts";
import { queryTerms } from "../src/kebab/terms.ts";
import { MAX_VECTORS, otherDimensions, type CollectionEmbedding } from "./collection-embedding.ts";
import type { ChunkRow, CollectionStore } from "./collection-store.ts";
import type { CollectionTerms } from "./collection-terms.ts";
import type { CollectionVectors } from "./collection-vectors.ts";

/** Chunks that are scored: the best by the index's own measure, and of those that have every term. */
const MAX_CANDIDATES = 128;
const MAX_COMPLETE = 128;
/** Chunks that are found by their vectors. */
const MAX_NEAR = 128;

export interface Searched {
  store: CollectionStore;
  terms: CollectionTerms;
  vectors: CollectionVectors;
  embedding: CollectionEmbedding;
}

/** What is found, best first, and how long each part of it took. */
interface Lists {
  lexical: Ranked[];
  vector: Ranked[];
  found: Found[];
  timing: Omit<SearchTrace["timing"], "total_ms">;
}

export async function searchCollection(searched: Searched, ask: SearchAsk): Promise<SearchAnswer> {
  const began = Date.now();
  const { mode = "lexical", embed } = ask;
  const refusal = refusalOf(searched, ask);
  if (refusal !== undefined) return refusal;
  const { store, embedding } = searched;
  if (mode === "lexical" || embed === undefined || store.stats().chunks === 0) {
    return answer(searched, ask, { lists: listsOf(searched, ask, undefined), mode, began });
  }
  const query = await embedding.query(embed, ask.query);
  const failed = (failure: Extract<SearchRefusal, { refused: "embedding_failed" }>["failure"]): SearchRefusal => ({
    found: false,
    refused: "embedding_failed",
    targetId: embed.target.id,
    failure,
  });
  if ("failureClass" in query) return failed(query);
  // Others may have changed the collection meanwhile.
  const changed = refusalOf(searched, ask);
  if (changed !== undefined) return changed;
  const state = searched.vectors.state();
  if (state !== undefined && state.dimensions !== query.dimensions) return failed(otherDimensions);
  const embedMs = Date.now() - began;
  const lists = listsOf(searched, ask, query.numbers);
  lists.timing.vector_ms += embedMs;
  return answer(searched, ask, { lists, mode, began });
}

function refusalOf({ store, vectors }: Searched, { cursor, mode = "lexical", embed }: SearchAsk) {
  const { revision, chunks } = store.stats();
  if (!store.exists()) return { found: false, refused: "no_collection" } as const;
  if (cursor !== undefined && (cursor.revision !== revision || cursor.epoch !== store.epoch())) {
    return { found: false, refused: "stale_cursor" } as const;
  }
  if (mode === "lexical") return undefined;
  if (chunks > MAX_VECTORS) return { found: false, refused: "vector_limit", limit: MAX_VECTORS } as const;
  const state = vectors.state();
  const count = vectors.count();
  if (chunks === 0 || (embed !== undefined && state?.version === embed.version && count === chunks)) return undefined;
  const kept =
    state === undefined || count === 0
      ? "none"
      : state.version === embed?.version
        ? `${state.version}, ${count} of ${chunks} chunks`
        : state.version;
  return { found: false, refused: "not_embedded", expected: embed?.version ?? "an embedding target", kept } as const;
}

interface Answering {
  lists: Lists;
  mode: SearchMode;
  began: number;
}

function answer({ store, vectors }: Searched, ask: SearchAsk, { lists, mode, began }: Answering): SearchAnswer {
  const { revision } = store.stats();
  const offset = ask.cursor?.offset ?? 0;
  const page = lists.found.slice(offset, offset + ask.k);
  const rows = new Map(store.chunks(page.map(({ id }) => id)).map((row) => [row.id, row]));
  const found = page.flatMap((one, index) => {
    const row = rows.get(one.id);
    return row === undefined ? [] : [{ found: one, row, rank: offset + index + 1 }];
  });
  const target = mode === "lexical" ? undefined : ask.embed?.target;
  const asked = new Set(queryTerms(ask.query));
  const staleBefore = ask.staleMs === 0 ? Number.NEGATIVE_INFINITY : began - ask.staleMs;
  const hitsAt = (chars: number): KebabHit[] =>
    found.map(({ row, ...place }) => {
      const snippet = snippetOf(row.text, asked, chars);
      const stale = row.updatedAt < staleBefore;
      return hitOf(row, { mode, model: target?.model, ...place, snippet, whole: snippet === row.text, stale });
    });
  const { hits, truncated } = fitBudget(hitsAt, ask.snippetChars, ask.maxTokens);
  const goesOn = !ask.trace && (hits.length === ask.k || hits.length < found.length);
  return {
    found: true,
    hits,
    truncated,
    nextCursor: goesOn ? cursorText({ offset: offset + hits.length, revision, epoch: store.epoch() }) : null,
    ...(ask.trace && { trace: traceOf(store, lists, { offset, k: ask.k, mode, began }) }),
    ...(ask.textChars !== undefined && { texts: textsOf(found, ask.textChars) }),
    ...(target !== undefined && {
      embedding: { id: target.model ?? "", provider: target.id, dimensions: vectors.state()?.dimensions ?? null },
    }),
  };
}

function listsOf(searched: Searched, ask: SearchAsk, query: Float32Array | undefined): Lists {
  const { mode = "lexical" } = ask;
  const within = hasFilters(ask.filters) ? documentsOf(searched.store, ask) : undefined;
  const timing = { lexical_ms: 0, vector_ms: 0, fusion_ms: 0 };
  const timed = <T>(name: keyof typeof timing, work: () => T): T => {
    const began = Date.now();
    const made = work();
    timing[name] += Date.now() - began;
    return made;
  };
  const lexical = mode === "vector" ? [] : timed("lexical_ms", () => rankTerms(searched.terms, ask, within));
  const vector = query === undefined ? [] : timed("vector_ms", () => rankVectors(searched, query, within));
  const found =
    mode === "hybrid"
      ? timed("fusion_ms", () => fuse(lexical, vector))
      : placed(mode, mode === "lexical" ? lexical : vector);
  return { lexical, vector, found, timing };
}

/** Best first; equal ones by their names. */
function rankTerms(terms: CollectionTerms, ask: SearchAsk, within: number[] | undefined): Ranked[] {
  if (within?.length === 0) return [];
  const wanted = queryTerms(ask.query);
  const candidates = terms.find(wanted, "any", MAX_CANDIDATES, within);
  if (candidates.length === MAX_CANDIDATES && wanted.length > 1) {
    // Many chunks have some of the terms, and one that has all of them may have them as common ones only.
    const known = new Set(candidates.map(({ id }) => id));
    const isNew = (id: number): boolean => !known.has(id);
    if (terms.complete(wanted, MAX_COMPLETE, within).some(isNew)) {
      candidates.push(...terms.find(wanted, "all", MAX_COMPLETE, within).filter(({ id }) => isNew(id)));
    }
  }
  return candidates
    .map((candidate) => ({
      id: candidate.id,
      chunkId: candidate.chunkId,
      score: lexicalScore(candidate, wanted),
    }))
    .toSorted(byScore);
}

function rankVectors({ store, vectors }: Searched, query: Float32Array, within: number[] | undefined): Ranked[] {
  const near = vectors.nearest(query, MAX_NEAR, within === undefined ? undefined : new Set(within));
  const names = store.chunkIds(near.map(({ id }) => id));
  return near
    .map(({ id, score }) => ({ id, chunkId: names.get(id) ?? "", score }))
    .toSorted(byScore)
    .slice(0, MAX_NEAR);
}

const byScore = (a: Ranked, b: Ranked): number => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1);

function documentsOf(store: CollectionStore, { filters }: SearchAsk): number[] {
  const passes = documentFilter(filters);
  const ids: number[] = [];
  for (const document of store.filtered()) if (passes(document)) ids.push(document.id);
  return ids;
}

function textsOf(found: readonly { row: ChunkRow }[], limit: number): string[] {
  const texts: string[] = [];
  let characters = 0;
  for (const { row } of found) {
    characters += row.text.length;
    if (texts.length > 0 && characters > limit) break;
    texts.push(row.text);
  }
  return texts;
}

interface Tracing {
  offset: number;
  k: number;
  mode: SearchMode;
  began: number;
}

/** Of each list the part that is as deep as the page. */
function traceOf(store: CollectionStore, lists: Lists, { offset, k, mode, began }: Tracing): SearchTrace {
  const cut = <T>(list: readonly T[]): T[] => list.slice(offset, offset + k);
  const [lexical, vector] = [cut(lists.lexical), cut(lists.vector)];
  const rows = new Map(store.chunks([...lexical, ...vector].map(({ id }) => id)).map((row) => [row.id, row]));
  const listed = (list: readonly Ranked[]): SearchTrace["lexical"] =>
    list.flatMap(({ id, chunkId, score }, index) => {
      const row = rows.get(id);
      const place = { chunk_id: chunkId, rank: offset + index + 1, score };
      return row === undefined ? [] : [{ ...place, doc_id: row.docId, doc_path: row.path }];
    });
  const rank = (place: Place | undefined): number | null => place?.rank ?? null;
  return {
    lexical: listed(lexical),
    vector: listed(vector),
    rrf_inputs:
      mode === "hybrid"
        ? cut(lists.found).map((one) => ({
            chunk_id: one.chunkId,
            lexical_rank: rank(one.lexical),
            vector_rank: rank(one.vector),
            fusion_score: one.score,
          }))
        : [],
    timing: { ...lists.timing, total_ms: Date.now() - began },
  };
}
