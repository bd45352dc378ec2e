// A search in a collection: candidates from the index, scored and cut to what was asked for. Reads only.
import type { SearchAnswer, SearchAsk } from "../schemas/collection.ts";
import type { KebabHit, SearchTrace } from "../schemas/dialects/kebab.ts";
import { fitBudget } from "../src/kebab/budget.ts";
import { cursorText } from "../src/kebab/cursor.ts";
import { hasFilters, passes } from "../src/kebab/filters.ts";
import { lexicalHit } from "../src/kebab/hits.ts";
import { lexicalScore } from "../src/kebab/score.ts";
import { snippetOf } from "../src/kebab/snippet.ts";
import { queryTerms } from "../src/kebab/terms.ts";
import type { ChunkRow, CollectionStore } from "./collection-store.ts";
import type { CollectionTerms } from "./collection-terms.ts";

/** Chunks that are scored: the best by the index's own measure, and of those that have every term. */
const MAX_CANDIDATES = 128;
const MAX_COMPLETE = 128;

interface Scored {
  id: number;
  chunkId: string;
  score: number;
}

export function searchCollection(store: CollectionStore, terms: CollectionTerms, ask: SearchAsk): SearchAnswer {
  const began = Date.now();
  const { revision } = store.stats();
  if (!store.exists()) return { found: false, refused: "no_collection" };
  if (ask.cursor !== undefined && ask.cursor.revision !== revision) return { found: false, refused: "stale_cursor" };
  const wanted = queryTerms(ask.query);
  const ranked = rank(store, terms, ask, wanted);
  const lexicalMs = Date.now() - began;
  const offset = ask.cursor?.offset ?? 0;
  const page = ranked.slice(offset, offset + ask.k);
  const rows = new Map(store.chunks(page.map(({ id }) => id)).map((row) => [row.id, row]));
  const found = page.flatMap((scored, index) => {
    const row = rows.get(scored.id);
    return row === undefined ? [] : [{ ...scored, row, rank: offset + index + 1 }];
  });
  const asked = new Set(wanted);
  const staleBefore = ask.staleMs === 0 ? Number.NEGATIVE_INFINITY : began - ask.staleMs;
  const hitsAt = (chars: number): KebabHit[] =>
    found.map(({ row, rank: place, score }) => {
      const snippet = snippetOf(row.text, asked, chars);
      const stale = row.updatedAt < staleBefore;
      return lexicalHit(row, { rank: place, score, snippet, whole: snippet === row.text, stale });
    });
  const { hits, truncated } = fitBudget(hitsAt, ask.snippetChars, ask.maxTokens);
  const goesOn = !ask.trace && (hits.length === ask.k || hits.length < found.length);
  return {
    found: true,
    hits,
    truncated,
    nextCursor: goesOn ? cursorText({ offset: offset + hits.length, revision }) : null,
    ...(ask.trace && { trace: traceOf(found, lexicalMs, Date.now() - began) }),
    ...(ask.textChars !== undefined && { texts: textsOf(found, ask.textChars) }),
  };
}

/** Best first; equal ones by their names. */
function rank(store: CollectionStore, terms: CollectionTerms, ask: SearchAsk, wanted: readonly string[]): Scored[] {
  const within = hasFilters(ask.filters) ? documentsOf(store, ask) : undefined;
  if (within?.length === 0) return [];
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
    .toSorted((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1));
}

function documentsOf(store: CollectionStore, { filters }: SearchAsk): number[] {
  const ids: number[] = [];
  for (const document of store.filtered()) if (passes(document, filters)) ids.push(document.id);
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

function traceOf(
  found: readonly (Scored & { row: ChunkRow; rank: number })[],
  lexicalMs: number,
  totalMs: number,
): SearchTrace {
  return {
    lexical: found.map(({ row, rank: place, score }) => ({
      chunk_id: row.chunkId,
      doc_id: row.docId,
      doc_path: row.path,
      rank: place,
      score,
    })),
    vector: [],
    rrf_inputs: [],
    timing: { lexical_ms: lexicalMs, vector_ms: 0, fusion_ms: 0, total_ms: totalMs },
  };
}
