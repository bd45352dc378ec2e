// What a tenant's runs share: the slots of active runs, what they learned of their targets, how often the tenant's doors were used, what visitors reported, and in open mode the key that signs tickets. Knows no run's content.
import { DurableObject } from "cloudflare:workers";
import type { Throttle, TurnEntry, TurnEntryRequest } from "../schemas/chat.ts";
import type { ContentReport } from "../schemas/dialects/sveda-embed.ts";
import type { Admission, Admitted, TargetNews } from "../schemas/plan.ts";
import { benchedOf, healthyFirst, judge, type Bench } from "../src/run/breaker.ts";
import { FIRST_SAVED, givenBack, hedgeDelay, remembering, savedUp, spent, type Latencies } from "../src/run/hedging.ts";
import { toHex } from "../src/wire/hex.ts";
import { reportStore } from "./report-store.ts";
import { throttleStore } from "./throttle-store.ts";

/** The names of runs that are turns of a visitor begin with it. */
const TURN_PREFIX = "sv_";
/** How long a turn that was let in may take to become a run. */
const ENTERING_MS = 45_000;
/** Milliseconds until what changed is written: a commit within a start delays its first output, and starts come together. */
const SAVE_AFTER_MS = 200;

interface Unsaved {
  slots: Map<string, number | undefined>;
  benches: Map<string, Bench | undefined>;
  saved: number | undefined;
}

export class TenantObject extends DurableObject<Env> {
  /** By run: until when its slot is held. Unix epoch, milliseconds. */
  #slots = new Map<string, number>();
  #benches = new Map<string, Bench>();
  /** What the tables do not hold yet; `undefined`: the row goes. */
  #unsaved: Unsaved | undefined;
  /** What is left for further requests. */
  #saved = FIRST_SAVED;
  /** Only remembered: a new object learns it again. */
  #latencies = new Map<string, Latencies>();
  /** Turns that were let in and have no slot yet: until when they count. Only remembered. */
  #entering = new Map<string, number>();
  #throttle = throttleStore(this.ctx.storage);
  #reports = reportStore(this.ctx.storage);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Nothing is answered before this is done.
    ctx.blockConcurrencyWhile(async () => this.#load());
  }

  /**
   * Takes a slot for a run, or refuses when all are held. A slot whose holder is past its time counts as free: its run's
   * total clock has ended it. Answers without waiting for the disk: a slot that a crash forgets is one run too many.
   */
  admit({ runId, startedAt, until, maxActiveRuns, chain, breaker, hedge }: Admission): Admitted {
    const now = Date.now();
    if (!this.#slots.has(runId) && this.#slots.size >= maxActiveRuns) this.#dropPassed(now);
    if (!this.#slots.has(runId) && this.#slots.size >= maxActiveRuns) return { admitted: false };
    this.#setSlot(runId, until);
    this.#entering.delete(runId);
    const { benched, probes } = benchedOf(this.#benches, chain, breaker, startedAt, now);
    this.#setBenches(probes);
    const [first] = healthyFirst(chain, benched);
    if (hedge === undefined || first === undefined) return { admitted: true, benched, hedgeAfterMs: undefined };
    this.#setSaved(savedUp(this.#saved, hedge));
    return { admitted: true, benched, hedgeAfterMs: hedgeDelay(this.#latencies.get(first.id) ?? [], hedge) };
  }

  /** Takes what a further request costs; false, and nothing is taken, when too little is left. */
  spendFurther(): boolean {
    const left = spent(this.#saved);
    if (left === undefined) return false;
    this.#setSaved(left);
    return true;
  }

  /** A further request that was paid for was not made. */
  giveBackFurther(): void {
    this.#setSaved(givenBack(this.#saved));
  }

  /**
   * Gives a run's slot back; does nothing when it holds none. On disk before it is answered: nobody gives it back again, and
   * a slot that is forgotten to be free is a run too few until the total clock.
   */
  release(runId: string, news: TargetNews[]): void {
    this.report(news);
    this.#entering.delete(runId);
    if (!this.#slots.has(runId)) return;
    this.#setSlot(runId, undefined);
    this.#save();
  }

  /** How targets did. */
  report(news: TargetNews[]): void {
    for (const entry of news) {
      const { report } = entry;
      if (report.result === "shown") {
        const latencies = this.#latencies.get(report.targetId) ?? [];
        this.#latencies.set(report.targetId, remembering(latencies, report.firstOutputMs));
      }
      this.#setBenches(judge(this.#benches, entry, Date.now()));
    }
  }

  /**
   * Lets a turn in, or says why not: attempts from its address are counted first, then the turns that run now. One that is let
   * in counts at once, and as long as its run; a repeat for the same run takes no second place.
   */
  enterTurn({ runId, instead, address, throttle, active }: TurnEntryRequest): TurnEntry {
    const now = Date.now();
    const retryAfterMs = address === undefined ? undefined : this.#throttle.take(`ip/${address}`, throttle, now);
    if (retryAfterMs !== undefined) return { entered: false, refused: "too_many_attempts", retryAfterMs };
    if (active === 0) return { entered: true };
    for (const [name, until] of this.#entering) if (until < now) this.#entering.delete(name);
    const live = [...this.#slots].filter(([name, until]) => name.startsWith(TURN_PREFIX) && until >= now);
    const turns = new Set([...live.map(([name]) => name), ...this.#entering.keys()]);
    if (instead !== undefined) turns.delete(instead);
    if (!turns.has(runId) && turns.size >= active) return { entered: false, refused: "too_many_streams" };
    if (!this.#slots.has(runId)) this.#entering.set(runId, now + ENTERING_MS);
    return { entered: true };
  }

  /** Counts an embed token that is asked for; milliseconds until the next may be when there were too many. */
  countToken(throttle: Throttle): number | undefined {
    return this.#throttle.take("token", throttle, Date.now());
  }

  /** Keeps what a visitor reported; the oldest of many reports go. */
  keepReport(report: ContentReport): void {
    this.#reports.keep(report);
  }

  /** What visitors reported, newest first. */
  reports(): ContentReport[] {
    return this.#reports.list();
  }

  /** A random key for tickets, 64 hex digits, made once and kept. Open mode only; elsewhere TICKET_SECRET is required. */
  async ticketKey(): Promise<string> {
    const kept = await this.ctx.storage.get<string>("ticketKey");
    if (kept !== undefined) return kept;
    const key = toHex(crypto.getRandomValues(new Uint8Array(32)));
    await this.ctx.storage.put("ticketKey", key);
    return key;
  }

  #dropPassed(now: number): void {
    for (const [runId, until] of this.#slots) if (until < now) this.#setSlot(runId, undefined);
  }

  #setSlot(runId: string, until: number | undefined): void {
    if (until === undefined) this.#slots.delete(runId);
    else this.#slots.set(runId, until);
    this.#toSave().slots.set(runId, until);
  }

  #setBenches(changes: ReadonlyMap<string, Bench | undefined>): void {
    for (const [name, bench] of changes) {
      if (bench === undefined) this.#benches.delete(name);
      else this.#benches.set(name, bench);
      this.#toSave().benches.set(name, bench);
    }
  }

  #setSaved(saved: number): void {
    if (saved === this.#saved) return;
    this.#saved = saved;
    this.#toSave().saved = saved;
  }

  /** A write holds an answer back until it is on disk, so what changed is written once the answer is away, in one commit for many. */
  #toSave(): Unsaved {
    if (this.#unsaved === undefined) {
      this.#unsaved = { slots: new Map(), benches: new Map(), saved: undefined };
      setTimeout(() => this.#save(), SAVE_AFTER_MS);
    }
    return this.#unsaved;
  }

  #save(): void {
    const { slots, benches, saved } = this.#unsaved ?? {};
    this.#unsaved = undefined;
    const { sql } = this.ctx.storage;
    for (const [runId, until] of slots ?? []) {
      if (until === undefined) sql.exec("DELETE FROM slot WHERE run_id = ?", runId);
      else sql.exec("INSERT OR REPLACE INTO slot (run_id, until) VALUES (?, ?)", runId, until);
    }
    for (const [name, bench] of benches ?? []) {
      if (bench === undefined) sql.exec("DELETE FROM held WHERE name = ?", name);
      else {
        const { strikes, benchings, since, until, judgedFrom } = bench;
        sql.exec(
          "INSERT OR REPLACE INTO held (name, strikes, benchings, since, until, judged_from) VALUES (?, ?, ?, ?, ?, ?)",
          name,
          strikes,
          benchings,
          since,
          until,
          judgedFrom,
        );
      }
    }
    if (saved !== undefined) sql.exec("INSERT OR REPLACE INTO budget (one, saved) VALUES (1, ?)", saved);
  }

  #load(): void {
    const { sql } = this.ctx.storage;
    this.#createTables();
    for (const row of sql.exec<{ run_id: string; until: number }>("SELECT run_id, until FROM slot")) {
      this.#slots.set(row.run_id, row.until);
    }
    const benches = sql.exec<{ name: string } & Record<keyof Bench, number>>(
      "SELECT name, strikes, benchings, since, until, judged_from AS judgedFrom FROM held",
    );
    for (const { name, ...bench } of benches) this.#benches.set(name, bench);
    for (const { saved } of sql.exec<{ saved: number }>("SELECT saved FROM budget")) this.#saved = saved;
  }

  #createTables(): void {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS slot (run_id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID");
    sql.exec(
      "CREATE TABLE IF NOT EXISTS held (name TEXT PRIMARY KEY, strikes INTEGER NOT NULL, benchings INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, judged_from INTEGER NOT NULL) WITHOUT ROWID",
    );
    sql.exec("CREATE TABLE IF NOT EXISTS budget (one INTEGER PRIMARY KEY, saved INTEGER NOT NULL)");
  }
}
