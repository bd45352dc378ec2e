// The object of one visitor: the only place where turns of the visitor's chats begin, and where their ends are kept. Asks no model itself.
import { DurableObject } from "cloudflare:workers";
import type {
  ChatDetail,
  ChatSummary,
  HostServer,
  TurnAnswer,
  TurnEnd,
  TurnEndAnswer,
  TurnRequest,
} from "../schemas/chat.ts";
import type { RunStatus } from "../schemas/run.ts";
import { nextMove, type Desk } from "../src/chat/turn-rules.ts";
import { toHex } from "../src/wire/hex.ts";
import { pass } from "./gate.ts";
import { throttleStore } from "./throttle-store.ts";
import { visitorChats } from "./visitor-chats.ts";
import { visitorRuns, type CancelAnswer } from "./visitor-runs.ts";
import { visitorStore } from "./visitor-store.ts";
import { within } from "./within.ts";

/** A turn whose run is not known so long after the turn began was left by whoever was to start it. */
const STARTING_MS = 15_000;
/** How long a turn that is about to start is waited for at a time. */
const STARTING_POLL_MS = 250;
/** How long the news of a run's end may take once the run has ended. */
const NEWS_MS = 5_000;
/** How long a next decision waits for the turn that carries out the one before. */
const CARRYING_MS = 60_000;
/** How many turns are asked whether they still run. */
const MAX_VERIFIED = 32;
/** How long the identities of turns are kept. */
const IDENTITY_MS = 30 * 86_400_000;

export class VisitorObject extends DurableObject<Env> {
  #store = visitorStore(this.ctx.storage);
  #chats = visitorChats(this.ctx.storage, this.#store);
  #throttle = throttleStore(this.ctx.storage);
  #runs = visitorRuns(this.env, (this.ctx.id.name ?? "").split("/")[0] ?? "");
  /** By run: told when its turn has ended or was given up. */
  #ends = new Map<string, PromiseWithResolvers<void>>();
  #sweeping = false;

  /**
   * Begins a turn, or says which run is that turn already. What was found out before a wait is looked at again after it, so
   * of two calls at the same moment one begins the turn.
   */
  async beginTurn(request: TurnRequest): Promise<TurnAnswer> {
    const asked = Date.now();
    const said = new Map<string, RunStatus | "unknown">();
    let counted = false;
    let verified = false;
    for (;;) {
      const desk: Desk = { ...this.#chats.deskOf(request), said, counted, verified };
      const move = nextMove(desk, request);
      switch (move.move) {
        case "look":
          said.set(move.runId, await this.#runs.statusOf(move.runId));
          await pass("looked", this.ctx);
          break;
        case "repeat":
          return { begun: true, repeat: true, runId: move.runId };
        case "again":
          // Whoever asked before may be about to start it as well: a run starts once.
          this.#chats.touch(move.runId, Date.now());
          return this.#chats.answerFor(move.runId, this.hostServer() !== undefined);
        case "count": {
          const retryAfterMs = this.#throttle.take("stream", request.stream, Date.now());
          if (retryAfterMs !== undefined) return { begun: false, refused: "too_many_attempts", retryAfterMs };
          counted = true;
          break;
        }
        case "verify":
          await this.#verify();
          said.clear();
          verified = true;
          break;
        case "refuse":
          return { begun: false, refused: move.refused };
        case "end":
          await this.#end(move.turn.runId, Date.now() - asked < CARRYING_MS ? move.how : "cancel");
          await pass("ended", this.ctx);
          said.clear();
          break;
        case "begin": {
          const runId = move.runId ?? `sv_${toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
          this.#chats.begin(request, move, runId, Date.now());
          const answer = this.#chats.answerFor(runId, this.hostServer() !== undefined);
          await this.#armSweep();
          return answer;
        }
      }
    }
  }

  /** Keeps how a turn ended. Once it has answered, every page sees the whole turn. May be told again. */
  endTurn(end: TurnEnd): TurnEndAnswer {
    const answer = this.#chats.end(end, Date.now());
    this.#tellEnd(end.runId);
    return answer;
  }

  /** A turn that was begun could not be started. Does nothing when its run was started all the same. */
  async abandonTurn(runId: string): Promise<void> {
    if ((await this.#runs.statusOf(runId)) !== "unknown") return;
    this.#lose(runId, true);
  }

  /** What a model made of the text that `endTurn` asked to sum up. */
  summarized(answer: { chatId: string; through: number; summary: string }): void {
    this.#chats.summarized(answer);
  }

  /** Newest first. */
  list(): ChatSummary[] {
    return this.#chats.list();
  }

  read(chatId: string): ChatDetail | undefined {
    return this.#chats.read(chatId);
  }

  /** False when there is no such chat. */
  rename(chatId: string, title: string): boolean {
    return this.#chats.rename(chatId, title, Date.now());
  }

  /** Forgets a chat and ends the turn that runs in it. False when there is no such chat. */
  async remove(chatId: string): Promise<boolean> {
    const removed = this.#chats.remove(chatId);
    if (removed === undefined) return false;
    const { active } = removed;
    if (active === undefined) return true;
    this.#tellEnd(active.runId);
    if (!(await this.#cancelled(active.runId))) this.ctx.waitUntil(this.#cancelOnceStarted(active.runId));
    return true;
  }

  keepHostServer(host: HostServer): void {
    this.#store.keepHost(host);
  }

  /** Where the visitor's host page has its tools, while that is known. */
  hostServer(): HostServer | undefined {
    const host = this.#store.host();
    return host === undefined || host.expiresAt <= Date.now() ? undefined : host;
  }

  /** Whether the run is a turn of this visitor. */
  owns(runId: string): boolean {
    return this.#store.turn(runId) !== undefined;
  }

  override async alarm(): Promise<void> {
    const now = Date.now();
    this.#throttle.sweep(now);
    if (this.hostServer() === undefined) this.#store.forgetHost();
    if (this.#store.sweepTurns(now - IDENTITY_MS)) await this.ctx.storage.setAlarm(now + IDENTITY_MS);
  }

  /** Resolves when the turn of this run has ended, was given up, or is forgotten. */
  #ended(runId: string): Promise<void> {
    const waiting = this.#ends.get(runId) ?? Promise.withResolvers<void>();
    this.#ends.set(runId, waiting);
    return waiting.promise;
  }

  #tellEnd(runId: string): void {
    this.#ends.get(runId)?.resolve();
    this.#ends.delete(runId);
  }

  #lose(runId: string, undo: boolean): void {
    this.#chats.lose(runId, undo);
    this.#tellEnd(runId);
  }

  /** One step towards the end of a running turn: the caller looks again. */
  async #end(runId: string, how: "cancel" | "wait"): Promise<void> {
    const ended = this.#ended(runId);
    const word = how === "cancel" ? await this.#runs.cancel(runId, "superseded") : await this.#runs.statusOf(runId);
    const turn = this.#store.turn(runId);
    if (turn?.state !== "begun") return;
    if (word === "unknown") {
      if (Date.now() - turn.at >= STARTING_MS) this.#lose(runId, false);
      else await within(ended, STARTING_POLL_MS);
      return;
    }
    if ((await within(ended, NEWS_MS)) || word === "running") return;
    // The run has ended, and its news does not come: what it had shown is kept without it.
    const answer = typeof word === "object" ? word : await this.#runs.cancel(runId, "superseded");
    if (typeof answer === "object") this.endTurn(endWithoutNews(runId, answer));
  }

  /** Turns of other chats count as long as they run: those that were never started, or whose news is late, do not. */
  async #verify(): Promise<void> {
    const turns = this.#store.begunTurns().slice(0, MAX_VERIFIED);
    await Promise.all(
      turns.map(async ({ runId }) => {
        const word = await this.#runs.statusOf(runId);
        if (word !== "running") await this.#end(runId, "wait");
      }),
    );
  }

  async #cancelled(runId: string): Promise<boolean> {
    try {
      return (await this.#runs.cancel(runId, "deleted")) !== "unknown";
    } catch {
      return false;
    }
  }

  /** A turn that was forgotten while it was about to start. */
  async #cancelOnceStarted(runId: string): Promise<void> {
    const until = Date.now() + STARTING_MS;
    while (Date.now() < until) {
      await within(this.#ended(runId), STARTING_POLL_MS);
      if (await this.#cancelled(runId)) break;
    }
    this.#tellEnd(runId);
  }

  async #armSweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + IDENTITY_MS);
  }
}

function endWithoutNews(runId: string, { outcome, text }: Exclude<CancelAnswer, string>): TurnEnd {
  const step = { text, reasoning: "", calls: [] };
  return { runId, chatId: "", at: 0, outcome, text, reasoning: "", carried: [], steps: [step], titles: [] };
}
