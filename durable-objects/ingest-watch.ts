// An ingest's own view of how far it is, told as lines of progress. Writes nothing.
import type { NewDocument } from "../schemas/collection.ts";
import type { ProgressLine } from "../schemas/dialects/kebab-documents.ts";
import type { IngestWatch } from "./collection-ingest.ts";
import type { IngestTask } from "../src/kebab/ingest-events.ts";

/** The share of an ingest that is over when its documents are ready to be written. */
const READY = 0.9;
/** Of that, where documents are embedded: the share of cutting them. */
const CUT = 0.2;

export interface WatchOptions {
  documents: readonly NewDocument[];
  /** The documents are embedded as well. */
  embeds: boolean;
  progress(task: IngestTask, fraction: number, lines: readonly ProgressLine[]): void;
}

export type ProgressWatch = Pick<IngestWatch, "started" | "chunked" | "embedding" | "embedded"> & {
  /** Chunks that were embedded so far. */
  embeddings(): number;
};

export function progressWatch({ documents, embeds, progress }: WatchOptions): ProgressWatch {
  const total = documents.length;
  const places = new Map(documents.map(({ path }, index) => [path, index + 1]));
  const placeOf = ({ path }: NewDocument) => ({ idx: places.get(path) ?? 1, total });
  let cut = 0;
  let chunks = 0;
  let embeddings = 0;
  let began = 0;
  let furthest = 0;

  /** Never goes back, also when a document has to be looked at again. */
  function fraction(): number {
    const cutShare = Math.min(1, cut / total);
    const embeddedShare = chunks === 0 ? 0 : Math.min(1, embeddings / chunks) * cutShare;
    const share = embeds ? CUT * cutShare + (1 - CUT) * embeddedShare : cutShare;
    furthest = Math.max(furthest, Math.round(READY * share * 10_000) / 10_000);
    return furthest;
  }

  return {
    started(document) {
      const { path, media } = document;
      progress("chunk", fraction(), [{ kind: "asset_started", ...placeOf(document), path, media }]);
    },
    chunked(document, count) {
      cut++;
      chunks += count;
      progress("chunk", fraction(), [{ kind: "asset_chunked", ...placeOf(document), n_chunks: count }]);
    },
    embedding(count) {
      began = Date.now();
      progress("embed", fraction(), [{ kind: "embed_batch_started", n_chunks: count }]);
    },
    embedded(count) {
      embeddings += count;
      const ms = Math.max(0, Date.now() - began);
      progress("embed", fraction(), [{ kind: "embed_batch_finished", n_chunks: count, ms }]);
    },
    embeddings: () => embeddings,
  };
}
