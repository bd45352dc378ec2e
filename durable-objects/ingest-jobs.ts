// Ingests that are runs, in their collection's object: carried out one beside the other, told to their runs, and ended. Whether documents are kept is decided here alone, once.
import type { IngestRun, IngestWord, NewDocument, PutAnswer } from "../schemas/collection.ts";
import type { EmbedPlan } from "../schemas/embedding.ts";
import { brokenEvent, failedEvent, keptEvents, refusedEvent, scanned } from "../src/kebab/ingest-events.ts";
import { reportOf } from "../src/kebab/ingest-report.ts";
import { putRefusal } from "../src/kebab/put-refusal.ts";
import { failurePolicies } from "../src/run/fallback.ts";
import type { PushedEvent } from "../schemas/push.ts";
import type { CollectionIngest, IngestWatch } from "./collection-ingest.ts";
import { pass } from "./gate.ts";
import { confirm } from "./open-run.ts";
import { ingestNotes, type IngestNote } from "./ingest-notes.ts";
import { ingestTeller, type IngestTeller } from "./ingest-teller.ts";
import { progressWatch } from "./ingest-watch.ts";

/** When a run is told again what came of it, if the object dies before the run knows. Milliseconds. */
const RETELL_MS = 5000;

export interface IngestJobs {
  /** Carries an ingest out, once; resolves when its run knows how it ended. */
  carryOut(run: IngestRun, documents: readonly NewDocument[], embed?: EmbedPlan): Promise<void>;
  /** The run is to end. Once `stopped`, nothing of the ingest will ever be kept; where it is `kept`, the run knows it. */
  stop(runId: string): Promise<IngestWord>;
  /** Tells runs what they may not know. */
  retell(): Promise<void>;
}

interface Ordered {
  run: IngestRun;
  documents: readonly NewDocument[];
  embed: EmbedPlan | undefined;
}

interface Job {
  stopped: boolean;
}

/** Runs that were stopped before their documents came, remembered at most. */
const MAX_REFUSED = 1000;

export function ingestJobs(ctx: DurableObjectState, env: Env, ingest: CollectionIngest): IngestJobs {
  const notes = ingestNotes(ctx.storage);
  const jobs = new Map<string, Job>();
  const refused = new Set<string>();

  /** False when the run cannot be reached: the note stays. */
  async function tell(note: IngestNote, teller: IngestTeller): Promise<boolean> {
    const heard = await teller.push(keptEvents(note.report, note.embeddings));
    await pass("ingest told", ctx);
    // A run that is over knows how it ended, and one that is gone has nobody to be told.
    if (heard !== "unreachable") notes.remove(note.runId);
    return heard !== "unreachable";
  }

  async function tellAgain(note: IngestNote): Promise<boolean> {
    const teller = ingestTeller(env, note, () => undefined);
    try {
      return await tell(note, teller);
    } finally {
      teller.stop();
    }
  }

  async function keep({ run, documents, embed }: Ordered, job: Job, teller: IngestTeller): Promise<void> {
    const began = Date.now();
    const { push, progress } = teller;
    const watch = progressWatch({ documents, embeds: embed !== undefined, progress });
    let note: IngestNote | undefined;
    let isNews = false;
    const seams: IngestWatch = {
      ...watch,
      isCancelled: () => job.stopped,
      async ready() {
        await pass("ingest ready", ctx);
        await push([]);
      },
      keeping(kept) {
        const report = reportOf(run.collection, kept, Date.now() - began);
        note = { ...run, embeddings: watch.embeddings(), report };
        // What changes nothing may be lost: it is as good as never done.
        isNews = kept.some(({ result }) => result !== "unchanged");
        if (isNews) notes.save(note);
      },
    };
    progress("scan", 0, scanned(run.collection, documents.length));
    if ((await push([])) !== "taken") return;
    const answer = await ingest.put(documents, seams, embed);
    if (note !== undefined) {
      // Begun in the turn of the write, so that one commit holds both.
      if (isNews) await Promise.all([ctx.storage.setAlarm(Date.now() + RETELL_MS), confirm(ctx, "ingest")]);
      await tell(note, teller);
    } else if (!answer.put && answer.refused !== "cancelled") {
      await push([endOf(answer)]);
    }
  }

  return {
    async carryOut(run, documents, embed) {
      const { runId } = run;
      if (jobs.has(runId) || refused.has(runId)) return;
      const job: Job = { stopped: false };
      jobs.set(runId, job);
      const teller = ingestTeller(env, run, () => (job.stopped = true));
      try {
        await keep({ run, documents, embed }, job, teller);
      } catch (error) {
        // Its transaction has failed with it, if it has come so far.
        if (notes.find(runId) === undefined) await teller.push([brokenEvent]);
        throw error;
      } finally {
        teller.stop();
        jobs.delete(runId);
      }
    },
    async stop(runId) {
      const note = notes.find(runId);
      if (note !== undefined) {
        if (!(await tellAgain(note))) throw new Error("the run of an ingest does not answer");
        return "kept";
      }
      const job = jobs.get(runId);
      if (job !== undefined) job.stopped = true;
      else {
        const [first] = refused;
        if (first !== undefined && refused.size >= MAX_REFUSED) refused.delete(first);
        refused.add(runId);
      }
      return "stopped";
    },
    async retell() {
      for (const runId of notes.runs()) {
        const note = notes.find(runId);
        if (note === undefined) notes.remove(runId);
        else if (!jobs.has(runId)) await tellAgain(note);
      }
      if (notes.runs().length > 0) await ctx.storage.setAlarm(Date.now() + RETELL_MS);
    },
  };
}

/** Nothing is kept, and why. */
function endOf(answer: Exclude<Extract<PutAnswer, { put: false }>, { refused: "cancelled" }>): PushedEvent {
  return answer.refused === "embedding_failed"
    ? failedEvent(answer.targetId, answer.failure, failurePolicies[answer.failure.failureClass])
    : refusedEvent(putRefusal(answer));
}
