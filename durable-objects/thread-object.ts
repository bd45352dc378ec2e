// The object of one thread: the only place where runs of the thread begin, where their records are numbered, and where its state is kept. Asks no model itself.
import { DurableObject } from "cloudflare:workers";
import type { JsonRecord } from "../schemas/json.ts";
import type { IngestAnswer, IngestRequest } from "../schemas/thread-ingest.ts";
import type { EditAnswer, EditRequest, RegenerateAnswer } from "../schemas/thread-replay.ts";
import type {
  Feedback,
  FeedbackRequest,
  FeedbackStats,
  MessagePage,
  MessageRow,
  MessagesQuery,
  PageQuery,
  RowsAnswer,
  RunEventsQuery,
  RunMessagePage,
  RunMessagesQuery,
  RunTotals,
  ThreadTokenUsage,
  WorkspaceChanges,
  WorkspaceQuery,
} from "../schemas/thread-rows.ts";
import type {
  ThreadBase,
  ThreadCancelAnswer,
  ThreadNews,
  ThreadNewsAnswer,
  ThreadRecord,
  ThreadRunAnswer,
  ThreadRunRequest,
  ThreadRunView,
  ThreadState,
  ThreadStateAnswer,
  ThreadUpdate,
  ThreadUpdateAnswer,
  ThreadView,
  ThreadWaitingAnswer,
} from "../schemas/thread.ts";
import { utf8Length } from "../src/run/utf8.ts";
import { checkpointId } from "../src/thread/checkpoint-id.ts";
import { MAX_PIECE } from "../src/thread/fitting.ts";
import { jsonText } from "../src/wire/json.ts";
import { forgottenRuns } from "./forgotten-runs.ts";
import { pass } from "./gate.ts";
import { runCalls } from "./run-calls.ts";
import { threadAlarm } from "./thread-alarm.ts";
import { STARTING_MS, threadEnds, type CancelAction } from "./thread-ends.ts";
import { threadFeedback, type ThreadFeedback } from "./thread-feedback.ts";
import { threadIngest } from "./thread-ingest.ts";
import { threadNews } from "./thread-news.ts";
import { threadOpenings } from "./thread-openings.ts";
import { threadProducers } from "./thread-producers.ts";
import { threadReadings } from "./thread-readings.ts";
import { threadRecords } from "./thread-records.ts";
import { threadReport } from "./thread-report.ts";
import { threadReplays } from "./thread-replays.ts";
import { threadRows } from "./thread-rows.ts";
import { threadRunStore } from "./thread-run-store.ts";
import { threadState } from "./thread-state.ts";
import { threadStore } from "./thread-store.ts";
import { hearFirst, within } from "./within.ts";

/** How long the tenant's index may hold up an answer, so that a search after it finds what was changed. */
const REPORT_WAIT_MS = 1000;

type KeepFeedback = (feedback: ThreadFeedback, newId: string, at: number) => Feedback;

export interface ThreadRequest {
  metadata: JsonRecord;
  assistantId?: string | null;
}

export class ThreadObject extends DurableObject<Env> {
  #name = this.ctx.id.name ?? "";
  #tenant = this.#name.slice(0, this.#name.indexOf("/"));
  #threadId = this.#name.slice(this.#name.indexOf("/") + 1);
  #calls = runCalls(this.env, this.#tenant);
  #store = threadStore(this.ctx.storage);
  #runs = threadRunStore(this.ctx.storage);
  #state = threadState(this.ctx.storage);
  #records = threadRecords(this.ctx.storage, (count) => this.#store.takeNumbers(count));
  #parts = {
    ctx: this.ctx,
    env: this.env,
    storage: this.ctx.storage,
    tenant: this.#tenant,
    threadId: this.#threadId,
    store: this.#store,
    runs: this.#runs,
    state: this.#state,
    records: this.#records,
    feedback: threadFeedback(this.ctx.storage),
    producers: threadProducers(this.ctx.storage),
    calls: this.#calls,
  };
  #rows = threadRows(this.#parts);
  #replays = threadReplays(this.#parts);
  #readings = threadReadings(this.#parts);
  #openings = threadOpenings({ ...this.#parts, readings: this.#readings });
  #ends = threadEnds({
    ...this.#parts,
    openings: this.#openings,
    news: threadNews(this.#parts),
    changed: () => this.#changed(),
  });
  #ingest = threadIngest({ ...this.#parts, tell: (news) => this.#ends.take(news) });
  #report = threadReport({ ...this.#parts, view: () => this.#readings.view() });
  #forgotten = forgottenRuns(this.ctx, this.#calls);
  #alarm = threadAlarm(this.ctx, [
    { due: (now) => this.#report.due(now), wake: () => this.#report.tell() },
    { due: () => this.#forgotten.due(), wake: () => this.#forgotten.forget() },
    { due: () => this.#startingUntil(), wake: () => this.#verify() },
    { due: () => this.#ingest.due(), wake: () => this.#expire() },
  ]);

  /** The thread, made when it is not there; one that is stays as it is. */
  async create({ metadata, assistantId = null }: ThreadRequest): Promise<ThreadView> {
    if (this.#store.thread() === undefined) {
      const now = Date.now();
      const made = { createdAt: now, updatedAt: now, assistantId, metadata, activeRun: undefined };
      this.ctx.storage.transactionSync(() => this.#store.addThread({ ...made, status: "idle" }));
      await this.#reported();
    }
    const view = this.#readings.view();
    if (view === undefined) throw new Error("A thread that was made is not there.");
    return view;
  }

  async view(): Promise<ThreadView | undefined> {
    await this.#verifyStart();
    return this.#readings.view();
  }

  /** Merges what is given key by key. To pin a thread is no change of the thread, and takes no room. */
  async patch(given: JsonRecord, maxThreadBytes: number): Promise<ThreadView | "full" | undefined> {
    const thread = this.#store.thread();
    if (thread === undefined) return undefined;
    const pins = isPin(given);
    const metadata = { ...thread.metadata, ...given };
    const isTooMuch = this.#isFull(given, maxThreadBytes) || JSON.stringify(metadata).length > MAX_PIECE;
    if (!pins && isTooMuch) return "full";
    const patched = { ...thread, metadata, updatedAt: pins ? thread.updatedAt : Date.now() };
    this.ctx.storage.transactionSync(() => this.#store.saveThread(patched));
    await this.#reported();
    return this.#readings.view();
  }

  /** Forgets the thread, all that its runs recorded, and the runs before long. Not while one runs. */
  async remove(): Promise<"removed" | "busy" | "unknown"> {
    await this.#verify();
    const thread = this.#store.thread();
    if (thread === undefined) return "unknown";
    if (thread.activeRun !== undefined) return "busy";
    this.ctx.storage.transactionSync(() => {
      // A run of ours may have the name that a producer gave to one of its own: it is another run.
      this.#forgotten.add(this.#runs.ownRunIds(), undefined, Date.now());
      this.#runs.removeAll();
      this.#state.removeAll();
      this.#records.clear();
      this.#parts.feedback.clear();
      this.#parts.producers.clear();
      this.#store.removeThread();
    });
    await this.#reported();
    this.ctx.waitUntil(this.#forgotten.forget().catch(() => undefined));
    return "removed";
  }

  /** Begins a run, or says why not. Of starts at the same moment exactly one begins; a repeat is told so. */
  async beginRun(request: ThreadRunRequest): Promise<ThreadRunAnswer> {
    for (;;) {
      const thread = this.#store.thread();
      if (thread === undefined && request.ifMissing === "refuse") return { begun: false, refused: "unknown_thread" };
      const known = thread === undefined ? undefined : this.#runs.run(request.runId);
      if (known !== undefined && known.status !== "lost") {
        if (known.requestHash !== request.requestHash) return { begun: false, refused: "conflict" };
        return this.#openings.again(known, request.maxConversationBytes);
      }
      const active = thread?.activeRun;
      if (active === undefined) {
        const answer = this.#openings.begin(request, Date.now());
        this.#changed();
        return answer;
      }
      if (request.strategy === "reject") {
        await this.#ends.verify(active);
        if (this.#store.thread()?.activeRun === active) return { begun: false, refused: "active_run" };
      } else {
        // A start that will be refused ends no run.
        const fitting = this.#openings.fit(request);
        if (fitting.refused !== undefined) return { begun: false, ...fitting };
        if (!this.#openings.isAwaited(request)) return { begun: false, refused: "not_waiting" };
        await this.#ends.hasten(active, request.strategy);
      }
      await pass("ended", this.ctx);
    }
  }

  /** Whoever asks was told to start this run, and could not. The thread is as it was, unless somebody else may start it yet, or has. */
  async abandonRun(runId: string): Promise<void> {
    if (this.#store.thread() === undefined || !this.#openings.refuse(runId)) return;
    if (await this.#calls.exists(runId)) return;
    await pass("abandoned", this.ctx);
    this.#ends.undo(runId, "gone");
  }

  /** Keeps what a run tells. Once an end is answered, every read sees the whole run. May be told again. */
  async take(news: ThreadNews): Promise<ThreadNewsAnswer> {
    const answer = this.#ends.take(news);
    if (news.end !== undefined) await this.#reported();
    return answer;
  }

  /** Newest first, at most 100. */
  runs(): ThreadRunView[] {
    return this.#readings.runs();
  }

  run(runId: string): ThreadRunView | undefined {
    return this.#readings.run(runId);
  }

  /** Ends a run; of one that ended by being told to, that is known. `wait`: answers once it has ended. */
  async cancelRun(runId: string, action: CancelAction, wait: boolean): Promise<ThreadCancelAnswer> {
    const run = this.#readings.run(runId);
    if (run === undefined) return { cancelled: false, refused: "unknown_run" };
    const { status } = run;
    if (status === "interrupted") return { cancelled: true, ended: true };
    if (status !== "pending" && status !== "running") return { cancelled: false, refused: "not_cancellable", status };
    await this.#ends.cancel(runId, action);
    while (wait && this.#isLive(runId)) await this.#ends.hasten(runId, action);
    return { cancelled: true, ended: !this.#isLive(runId) };
  }

  /** The state that a run began with. */
  baseOf(runId: string): ThreadBase | undefined {
    return this.#readings.baseOf(runId);
  }

  /** The state at a checkpoint; left out: the newest. */
  state(checkpoint?: string): ThreadStateAnswer {
    return this.#readings.state(checkpoint);
  }

  /** The state that a run has left, or has come to: whatever later ones made of it. */
  stateAfter(runId: string): ThreadStateAnswer {
    return this.#readings.stateAfter(runId);
  }

  /** What waits in the newest state, or at a checkpoint, for this run. */
  waiting(forRun: string, checkpoint?: string): ThreadWaitingAnswer {
    return this.#readings.waiting(forRun, checkpoint);
  }

  /** Whether a run has ended, waiting at most `waitMs` milliseconds for it. */
  async awaitEnd(runId: string, waitMs: number): Promise<boolean> {
    await this.#verifyStart();
    if (this.#isLive(runId)) await within(this.#ends.ended(runId), waitMs);
    return !this.#isLive(runId);
  }

  /** Newest first, strictly before this checkpoint; only the first holds its messages. `undefined`: no such thread. */
  history({ limit, before }: { limit: number; before?: string }): ThreadState[] | undefined {
    return this.#readings.history(limit, before);
  }

  /** Changes the state without a run. Not while one runs. */
  async updateState(update: ThreadUpdate): Promise<ThreadUpdateAnswer> {
    await this.#verify();
    const thread = this.#store.thread();
    if (thread === undefined) return { updated: false, refused: "unknown_thread" };
    if (thread.activeRun !== undefined) return { updated: false, refused: "active_run" };
    const fitting = this.#openings.fit(update);
    if (fitting.refused !== undefined) return { updated: false, ...fitting };
    const added = this.#openings.update(fitting, update, Date.now());
    await this.#reported();
    const answer = this.#readings.state(checkpointId(added));
    if (!answer.found || answer.state === undefined) throw new Error("A checkpoint that was made is not there.");
    return { updated: true, state: answer.state };
  }

  /** Keeps what a producer that carries out a run elsewhere says of it. May be told again. */
  async ingest(request: IngestRequest): Promise<IngestAnswer> {
    const answer = this.#ingest.take(request, Date.now());
    if (answer.taken) await this.#reported();
    return answer;
  }

  /** All messages but those of runs in whose place another one has succeeded. */
  messages(query: MessagesQuery): RowsAnswer<MessageRow> {
    return this.#rows.messages(query);
  }

  /** Of them what a user is meant to see, backwards. */
  messagesPage(query: PageQuery): MessagePage {
    return this.#rows.messagesPage(query);
  }

  runMessages(query: RunMessagesQuery): RunMessagePage {
    return this.#rows.runMessages(query);
  }

  /** Records of a run, of all categories. */
  runEvents(query: RunEventsQuery): RowsAnswer<ThreadRecord> {
    return this.#rows.runEvents(query);
  }

  workspaceChanges(query: WorkspaceQuery): WorkspaceChanges {
    return this.#rows.workspaceChanges(query);
  }

  /** Over the runs that succeeded or failed, and with `includeActive` those that run. */
  tokenUsage(includeActive: boolean): ThreadTokenUsage {
    return this.#rows.tokenUsage(includeActive);
  }

  /** By run. */
  runTotals(runIds: string[]): Record<string, RunTotals> {
    return this.#rows.runTotals(runIds);
  }

  /** What a client starts to have the latest answer given again. */
  prepareRegenerate(messageId: string): RegenerateAnswer {
    return this.#replays.regenerate(messageId);
  }

  /** What a client starts to put its latest message otherwise. */
  prepareEdit(request: EditRequest): EditAnswer {
    return this.#replays.edit(request, crypto.randomUUID());
  }

  /** The user's newest feedback on the run becomes this. */
  putFeedback(request: FeedbackRequest, maxThreadBytes: number): Feedback | "full" {
    return this.#keepFeedback((feedback, id, at) => feedback.put(request, id, at), request, maxThreadBytes);
  }

  addFeedback(request: FeedbackRequest, maxThreadBytes: number): Feedback | "full" {
    return this.#keepFeedback((feedback, id, at) => feedback.add(request, id, at), request, maxThreadBytes);
  }

  /** Oldest first. */
  feedback(runId: string): Feedback[] {
    return this.#parts.feedback.list(runId);
  }

  feedbackStats(runId: string): FeedbackStats {
    return this.#parts.feedback.stats(runId);
  }

  /** All of the user's on the run; false when there was none. */
  deleteFeedback({ runId, userId }: { runId: string; userId: string | null }): boolean {
    return this.ctx.storage.transactionSync(() => this.#parts.feedback.removeOwn(runId, userId));
  }

  deleteOneFeedback(one: { runId: string; feedbackId: string }): "deleted" | "other_run" | "unknown" {
    return this.ctx.storage.transactionSync(() => this.#parts.feedback.removeOne(one.runId, one.feedbackId));
  }

  override async alarm(): Promise<void> {
    await this.#alarm.ring();
  }

  /** Of a run that is not there any more nothing is kept. */
  #keepFeedback(keep: KeepFeedback, request: FeedbackRequest, maxThreadBytes: number): Feedback | "full" {
    const [id, at] = [crypto.randomUUID(), Date.now()];
    if (this.#readings.run(request.runId) === undefined) return { ...request, feedbackId: id, createdAt: at };
    if (this.#isFull(request, maxThreadBytes)) return "full";
    return this.ctx.storage.transactionSync(() => keep(this.#parts.feedback, id, at));
  }

  /** There is no room for this. */
  #isFull(incoming: unknown, maxThreadBytes: number): boolean {
    return this.#store.size() + utf8Length(jsonText(incoming) ?? "") > maxThreadBytes;
  }

  async #expire(): Promise<void> {
    await hearFirst(this.#ingest.due());
    this.#ingest.expire(Date.now());
  }

  #isLive(runId: string): boolean {
    const status = this.#readings.run(runId)?.status;
    return status === "pending" || status === "running";
  }

  /** Until when the thread waits for its run to be started. */
  #startingUntil(): number | undefined {
    const active = this.#store.thread()?.activeRun;
    const run = active === undefined ? undefined : this.#runs.run(active);
    return run?.status === "pending" && !run.pushed ? run.createdAt + STARTING_MS : undefined;
  }

  /** A run whose object does not answer now is as it was known. */
  async #verifyStart(): Promise<void> {
    if ((this.#startingUntil() ?? Infinity) <= Date.now()) await this.#verify().catch(() => undefined);
  }

  async #verify(): Promise<void> {
    const active = this.#store.thread()?.activeRun;
    if (active !== undefined) await this.#ends.verify(active);
  }

  /** In the turn of a change: what is to be told is told now, or by the alarm. */
  #changed(): void {
    this.#alarm.arm();
    this.ctx.waitUntil(this.#report.tell().catch(() => undefined));
  }

  async #reported(): Promise<void> {
    this.#alarm.arm();
    const told = this.#report.tell().catch(() => undefined);
    this.ctx.waitUntil(told);
    await within(told, REPORT_WAIT_MS);
  }
}

function isPin(metadata: JsonRecord): boolean {
  const entries = Object.entries(metadata);
  return (
    entries.length === 1 && entries.every(([key, value]) => key === "deerflow_pinned" && typeof value === "boolean")
  );
}
