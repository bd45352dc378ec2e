// What came of ingests whose runs may not know of it yet: written with the documents, in their transaction, and forgotten when the run knows. Every statement on that table.
import * as v from "valibot";
import { ingestReportSchema } from "../schemas/dialects/kebab-documents.ts";
import { parseJson } from "../src/wire/json.ts";
import { cutText } from "./row-parts.ts";

const noteSchema = v.object({
  tenant: v.string(),
  runId: v.string(),
  collection: v.string(),
  leaseMs: v.number(),
  embeddings: v.number(),
  report: ingestReportSchema,
});
export type IngestNote = v.InferOutput<typeof noteSchema>;

export interface IngestNotes {
  /** Inside the caller's transaction. */
  save(note: IngestNote): void;
  find(runId: string): IngestNote | undefined;
  runs(): string[];
  remove(runId: string): void;
}

export function ingestNotes({ sql }: DurableObjectStorage): IngestNotes {
  const isThere = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ingest_note'").toArray().length > 0;

  return {
    save(note) {
      sql.exec(
        "CREATE TABLE IF NOT EXISTS ingest_note (run TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, part)) WITHOUT ROWID",
      );
      for (const [part, body] of cutText(JSON.stringify(note)).entries()) {
        sql.exec("INSERT INTO ingest_note (run, part, body) VALUES (?, ?, ?)", note.runId, part, body);
      }
    },
    find(runId) {
      if (!isThere()) return undefined;
      const rows = sql.exec<{ body: string }>("SELECT body FROM ingest_note WHERE run = ? ORDER BY part", runId);
      const text = rows
        .toArray()
        .map(({ body }) => body)
        .join("");
      const parsed = v.safeParse(noteSchema, parseJson(text)?.value);
      return parsed.success ? parsed.output : undefined;
    },
    runs: () =>
      isThere()
        ? sql
            .exec<{ run: string }>("SELECT DISTINCT run FROM ingest_note")
            .toArray()
            .map(({ run }) => run)
        : [],
    remove(runId) {
      if (isThere()) sql.exec("DELETE FROM ingest_note WHERE run = ?", runId);
    },
  };
}
