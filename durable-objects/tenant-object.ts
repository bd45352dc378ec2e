// What a tenant's runs share: the slots of active runs, and in open mode the key that signs tickets. Knows no run's content.
import { DurableObject } from "cloudflare:workers";
import { toHex } from "../src/wire/hex.ts";

export class TenantObject extends DurableObject<Env> {
  /**
   * Takes a slot for a run. False when `limit` runs hold one. A slot whose holder is past `until` (Unix epoch,
   * milliseconds) counts as free: its run's total clock has ended it.
   */
  acquire(runId: string, limit: number, until: number): boolean {
    this.#createTables();
    const sql = this.ctx.storage.sql;
    const held = Number(sql.exec("SELECT COUNT(*) AS held FROM slot WHERE run_id <> ?", runId).one()["held"]);
    if (held >= limit) {
      sql.exec("DELETE FROM slot WHERE until < ?", Date.now());
      const left = Number(sql.exec("SELECT COUNT(*) AS held FROM slot WHERE run_id <> ?", runId).one()["held"]);
      if (left >= limit) return false;
    }
    sql.exec("INSERT OR REPLACE INTO slot (run_id, until) VALUES (?, ?)", runId, until);
    return true;
  }

  /** Gives a run's slot back; does nothing when it holds none. */
  release(runId: string): void {
    this.#createTables();
    this.ctx.storage.sql.exec("DELETE FROM slot WHERE run_id = ?", runId);
  }

  /** A random key for tickets, 64 hex digits, made once and kept. Open mode only; elsewhere TICKET_SECRET is required. */
  async ticketKey(): Promise<string> {
    const kept = await this.ctx.storage.get<string>("ticketKey");
    if (kept !== undefined) return kept;
    const key = toHex(crypto.getRandomValues(new Uint8Array(32)));
    await this.ctx.storage.put("ticketKey", key);
    return key;
  }

  #createTables(): void {
    this.ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS slot (run_id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
    );
  }
}
