// The producers that push records of runs which are carried out elsewhere: how far each came and how long it counts as alive. Knows no rules.
import type { Batch, Producer } from "../src/thread/producer.ts";

/** `ended`: its records say that the run has ended; more of them may come. `closed`: none comes any more. */
export type Stage = "open" | "ended" | "closed";

export interface ProducerRow extends Producer {
  stage: Stage;
  /** Unix epoch, milliseconds. */
  leaseUntil: number;
}

export interface ThreadProducers {
  of(runId: string): ProducerRow | undefined;
  save(runId: string, row: ProducerRow): void;
  /** The numbers, in the thread, of the records at the positions of this batch. */
  seqs(runId: string, batch: Batch): number[];
  /** These records have the numbers from `first` on. */
  keepBatch(runId: string, batch: Batch, first: number): void;
  /** When the next producer counts as lost, unless it is heard of. */
  due(): number | undefined;
  /** Runs whose producer has not been heard of for as long as it was given. */
  expired(now: number): string[];
  clear(): void;
}

const STAGES = ["open", "ended", "closed"] as const;

/** Nothing is written, no table either, before the first producer is kept. */
export function threadProducers({ sql }: DurableObjectStorage): ThreadProducers {
  const isReady = (): boolean =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'producer'").toArray().length > 0;

  return {
    of(runId) {
      if (!isReady()) return undefined;
      const [row] = sql.exec("SELECT * FROM producer WHERE run_id = ?", runId).toArray();
      if (row === undefined) return undefined;
      return {
        epoch: Number(row["epoch"]),
        next: Number(row["next"]),
        stage: STAGES[Number(row["stage"])] ?? "closed",
        leaseUntil: Number(row["lease_until"]),
      };
    },
    save(runId, { epoch, next, stage, leaseUntil }) {
      if (!isReady()) createTables(sql);
      sql.exec(
        "INSERT OR REPLACE INTO producer (run_id, epoch, next, stage, lease_until) VALUES (?, ?, ?, ?, ?)",
        runId,
        epoch,
        next,
        STAGES.indexOf(stage),
        leaseUntil,
      );
    },
    seqs(runId, { epoch, sequence, count }) {
      if (!isReady()) return [];
      const batches = sql
        .exec<{ sequence: number; count: number; first: number }>(
          `SELECT sequence, count, first FROM pushed_batch WHERE run_id = ? AND epoch = ? AND sequence < ? AND sequence >=
           COALESCE((SELECT MAX(sequence) FROM pushed_batch WHERE run_id = ? AND epoch = ? AND sequence <= ?), 0)
           ORDER BY sequence`,
          runId,
          epoch,
          sequence + count,
          runId,
          epoch,
          sequence,
        )
        .toArray();
      return batches
        .flatMap((batch) =>
          Array.from({ length: batch.count }, (_, index) => [batch.sequence + index, batch.first + index]),
        )
        .flatMap(([position = -1, seq = 0]) => (position >= sequence && position < sequence + count ? [seq] : []));
    },
    keepBatch(runId, { epoch, sequence, count }, first) {
      if (!isReady()) createTables(sql);
      sql.exec(
        "INSERT INTO pushed_batch (run_id, epoch, sequence, count, first) VALUES (?, ?, ?, ?, ?)",
        runId,
        epoch,
        sequence,
        count,
        first,
      );
    },
    due() {
      if (!isReady()) return undefined;
      const { due } = sql.exec("SELECT MIN(lease_until) AS due FROM producer WHERE stage < 2").one();
      return typeof due === "number" ? due : undefined;
    },
    expired(now) {
      if (!isReady()) return [];
      const query = "SELECT run_id FROM producer WHERE stage < 2 AND lease_until <= ?";
      return sql
        .exec<{ run_id: string }>(query, now)
        .toArray()
        .map(({ run_id }) => run_id);
    },
    clear() {
      if (!isReady()) return;
      sql.exec("DELETE FROM producer");
      sql.exec("DELETE FROM pushed_batch");
    },
  };
}

function createTables(sql: SqlStorage): void {
  for (const statement of [
    `CREATE TABLE producer (run_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, next INTEGER NOT NULL,
     stage INTEGER NOT NULL, lease_until INTEGER NOT NULL) WITHOUT ROWID`,
    "CREATE INDEX producer_lease ON producer (lease_until) WHERE stage < 2",
    `CREATE TABLE pushed_batch (run_id TEXT NOT NULL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL,
     count INTEGER NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (run_id, epoch, sequence)) WITHOUT ROWID`,
  ]) {
    sql.exec(statement);
  }
}
