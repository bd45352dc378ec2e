// The object of one visitor: the only place where turns of the visitor's chats begin, and where their ends are kept. Asks no model itself.
import { DurableObject } from "cloudflare:workers";
import type {
  ChatDetail,
  ChatSummary,
  HostServer,
  Throttle,
  TurnAnswer,
  TurnEnd,
  TurnEndAnswer,
  TurnRequest,
} from "../schemas/chat.ts";
import { nextMove, type Desk, type RunWord } from "../src/chat/turn-rules.ts";
import { fitMessages } from "../src/run/fit-messages.ts";
import { toHex } from "../src/wire/hex.ts";
import { forgottenRuns } from "./forgotten-runs.ts";
import { pass } from "./gate.ts";
import type { TenantObject } from "./tenant-object.ts";
import { throttleStore } from "./throttle-store.ts";
import { visitorChats } from "./visitor-chats.ts";
import { visitorEnds } from "./visitor-ends.ts";
import type { BegunTurn } from "./visitor-openings.ts";
import { runCalls } from "./run-calls.ts";
import { visitorStore } from "./visitor-store.ts";

/** How long a next decision waits for the turn that carries out the one before, until it is refused. */
const CARRYING_MS = 60_000;
/** When what was left over of deleted chats is looked after. */
const FORGET_MS = 30_000;
/** How long the identities of turns are kept. */
const IDENTITY_MS = 30 * 86_400_000;

export class VisitorObject extends DurableObject<Env> {
  #tenantName = this.ctx.id.name?.split("/")[0] ?? "";
  #store = visitorStore(this.ctx.storage);
  #chats = visitorChats(this.ctx.storage, this.#store);
  #runs = runCalls(this.env, this.#tenantName);
  #ends = visitorEnds(this.ctx, this.#store, this.#chats, this.#runs);
  #forgotten = forgottenRuns(this.ctx, this.#runs);
  #throttle = throttleStore(this.ctx.storage);
  /** By chat and identity: turns that are about to begin. */
  #beginning = new Map<string, Promise<TurnAnswer>>();
  #sweeping = false;

  /** Begins a turn, or says which run is that turn already. Of concurrent calls for one turn the first begins it. */
  async beginTurn(request: TurnRequest): Promise<TurnAnswer> {
    const name = JSON.stringify([request.chatId, request.identity]);
    for (let before = this.#beginning.get(name); before !== undefined; before = this.#beginning.get(name)) {
      await Promise.allSettled([before]);
    }
    const beginning = this.#beginOnce(request);
    this.#beginning.set(name, beginning);
    try {
      return await beginning;
    } finally {
      this.#beginning.delete(name);
    }
  }

  /** Counts what costs as a turn does: `undefined`, or the milliseconds until the visitor may ask again. */
  countAttempt(throttle: Throttle): number | undefined {
    return this.#throttle.take("stream", throttle, Date.now());
  }

  /** Keeps how a turn ended. Once it has answered, every page sees the whole turn. May be told again. */
  endTurn(end: TurnEnd): TurnEndAnswer {
    return this.#ends.end(end);
  }

  /**
   * Whoever asks was told to start this turn, and could not. Its chat is as it was, unless somebody else may start the turn
   * yet, or has.
   */
  async abandonTurn(runId: string): Promise<void> {
    if (this.#store.turn(runId) !== undefined && !this.#chats.refuse(runId)) return;
    if (await this.#runs.exists(runId)) return;
    this.#ends.undo(runId);
    await this.#leave(runId);
  }

  /** What a model made of the text that `endTurn` asked to sum up. */
  summarized(answer: { chatId: string; through: number; summary: string }): void {
    this.#chats.summarized(answer);
  }

  /** Newest first. */
  list(): ChatSummary[] {
    return this.#chats.list();
  }

  async read(chatId: string): Promise<ChatDetail | undefined> {
    const activeRun = this.#store.chat(chatId)?.activeRun;
    // A run that does not answer now is shown as it was known.
    if (activeRun !== undefined) await this.#ends.giveUp(activeRun).catch(() => undefined);
    return this.#chats.read(chatId);
  }

  /** False when there is no such chat. */
  rename(chatId: string, title: string): boolean {
    return this.#chats.rename(chatId, title, Date.now());
  }

  /** Forgets a chat, and the runs of its turns before long; ends the one that runs. False when there is no such chat. */
  async remove(chatId: string): Promise<boolean> {
    const removed = this.#chats.remove(chatId);
    if (removed === undefined) return false;
    const now = Date.now();
    // In the turn of the removal, so that one commit holds all of it.
    this.#forgotten.add(removed.runIds, removed.activeRun, now);
    const alarm = this.ctx.storage.setAlarm(now + FORGET_MS);
    if (removed.activeRun !== undefined) await this.#ends.drop(removed.activeRun);
    await alarm;
    this.ctx.waitUntil(this.#forgotten.forget().catch(() => undefined));
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
    const left = this.#store.sweepTurns(now - IDENTITY_MS);
    this.#sweeping = left;
    const next = (await this.#forgotten.forget()) ?? (left ? now + IDENTITY_MS : undefined);
    if (next !== undefined) await this.ctx.storage.setAlarm(next);
  }

  async #beginOnce(request: TurnRequest): Promise<TurnAnswer> {
    const entered = new Set<string>();
    try {
      const answer = await this.#moves(request, entered);
      if (answer.begun) entered.delete(answer.runId);
      return answer;
    } finally {
      for (const runId of entered) this.ctx.waitUntil(this.#leave(runId));
    }
  }

  /** What was found out before a wait is looked at again after it. */
  async #moves(request: TurnRequest, entered: Set<string>): Promise<TurnAnswer> {
    const asked = Date.now();
    const newRunId = `sv_${toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
    const said = new Map<string, RunWord>();
    let admitted = false;
    let verified = false;
    let weighed = false;
    for (;;) {
      const desk: Desk = { ...this.#chats.deskOf(request), said, admitted, verified };
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
          return fitted(this.#chats.answerFor(move.runId, this.#hasHostTools()), request);
        case "admit": {
          const refusal = await this.#admit(request, move.runId ?? newRunId, desk.active?.runId, entered);
          if (refusal !== undefined) return refusal;
          await pass("admitted", this.ctx);
          said.clear();
          admitted = true;
          break;
        }
        case "verify":
          await this.#ends.verify();
          said.clear();
          verified = true;
          break;
        case "refuse":
          return { begun: false, refused: move.refused };
        case "end": {
          // A turn that will be refused ends no other.
          if (move.how === "cancel" && move.next !== undefined && !weighed) {
            const misfit = this.#chats.misfit(request, move.next, asked);
            if (misfit !== undefined) return misfit;
            weighed = true;
          }
          // What a user has approved is not cut off by what is approved next.
          if (move.how === "wait" && Date.now() - asked >= CARRYING_MS) {
            return { begun: false, refused: "too_many_streams" };
          }
          await this.#ends.hasten(move.turn.runId, move.how);
          await pass("ended", this.ctx);
          said.clear();
          break;
        }
        case "begin": {
          const answer = this.#chats.begin(request, move, move.runId ?? newRunId, Date.now(), this.#hasHostTools());
          if (!answer.begun) return answer;
          await this.#armSweep();
          return fitted(answer, request);
        }
      }
    }
  }

  #hasHostTools(): boolean {
    return this.hostServer() !== undefined;
  }

  /** Counts the request here, then asks the tenant. `entered`: names under which the tenant counts a turn now. */
  async #admit(
    request: TurnRequest,
    runId: string,
    instead: string | undefined,
    entered: Set<string>,
  ): Promise<TurnAnswer | undefined> {
    const retryAfterMs = this.countAttempt(request.stream);
    if (retryAfterMs !== undefined) return { begun: false, refused: "too_many_attempts", retryAfterMs };
    const { entry: asked } = request;
    // Where nothing is limited nobody is asked.
    if (asked === undefined || (asked.throttle.max === 0 && asked.active === 0)) return undefined;
    entered.add(runId);
    const entry = await this.#tenant().enterTurn({ ...asked, runId, instead });
    if (entry.entered) return undefined;
    if (entry.refused === "too_many_streams") return { begun: false, refused: entry.refused };
    return { begun: false, refused: entry.refused, retryAfterMs: entry.retryAfterMs };
  }

  // Anew for each call: a stub whose object has died stays broken.
  #tenant(): DurableObjectStub<TenantObject> {
    return this.env.TENANT.getByName(this.#tenantName);
  }

  /** The tenant need not count this turn: nothing is running. */
  async #leave(runId: string): Promise<void> {
    try {
      await this.#tenant().release(runId, []);
    } catch {
      // The place is free by itself before long.
    }
  }

  /** The first turn sets the alarm that forgets identities; while any are left, it sets itself. */
  async #armSweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + IDENTITY_MS);
  }
}

/** Of a conversation that is longer than the request allows a model reads the newest. */
function fitted(answer: BegunTurn, { maxConversationBytes }: TurnRequest): TurnAnswer {
  return { ...answer, messages: fitMessages(answer.messages, maxConversationBytes) };
}
