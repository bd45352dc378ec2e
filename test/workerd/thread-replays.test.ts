// What is done again in a thread: which turn it is, what a client starts for it, and what the thread is from then on.
import { describe, expect, it } from "vitest";
import type { EditAnswer, RegenerateAnswer } from "../../schemas/thread-replay.ts";
import type { LangMessage, ThreadRunRequest } from "../../schemas/thread.ts";
import {
  ai,
  askState,
  begin,
  create,
  ended,
  human,
  ids,
  newsOf,
  newThread,
  result,
  turn,
  update,
  type Stub,
} from "./threads.ts";

const regenerate = async (stub: Stub, messageId: string): Promise<RegenerateAnswer> =>
  stub.prepareRegenerate(messageId);
const edit = async (stub: Stub, humanMessageId: string, replacementText = "Otherwise."): Promise<EditAnswer> =>
  stub.prepareEdit({ humanMessageId, replacementText });

type Prepared = Extract<RegenerateAnswer, { prepared: true }>;
function prepared<Answer extends RegenerateAnswer | EditAnswer>(answer: Answer): Extract<Answer, { prepared: true }>;
function prepared(answer: RegenerateAnswer | EditAnswer): Prepared {
  if (!answer.prepared) throw new Error(`not prepared: ${answer.refused}`);
  return answer;
}
const refusedAs = (refused: string): unknown => ({ prepared: false, refused });

/** As the client starts it. */
const restart = ({ human: message, checkpointId, metadata }: Prepared): Partial<ThreadRunRequest> => ({
  input: [message],
  checkpointId,
  metadata,
});

describe("an answer given again", () => {
  it("R-REPLAY-1 begins with the user's message at the state before it, and is in the place of the first", async () => {
    const stub = newThread().stub();
    await turn(stub, { input: [human("h1")] }, newsOf("", [ai("a1")], ended({ title: "Weather" })));
    const runId = await turn(
      stub,
      { input: [human("h2")] },
      newsOf("", [ai("a2", "", [{ id: "c", name: "t" }]), result("t2", "c"), ai("a3")]),
    );
    const again = prepared(await regenerate(stub, "a3"));
    expect(again).toEqual({
      prepared: true,
      human: human("h2"),
      title: "Weather",
      checkpointId: expect.any(String),
      metadata: {
        regenerate_from_message_id: "a3",
        regenerate_from_run_id: runId,
        regenerate_checkpoint_id: again.checkpointId,
      },
      targetRunId: runId,
    });
    expect(await ids(stub, again.checkpointId)).toEqual(["h1", "a1"]);
    await turn(stub, restart(again), newsOf("", [ai("b3")]));
    expect(await ids(stub)).toEqual(["h1", "a1", "h2", "b3"]);
  });

  it("R-REPLAY-2 of the first turn begins at the state before everything", async () => {
    const stub = newThread().stub();
    await turn(stub, { input: [human("h1")] }, newsOf("", [ai("a1")]));
    const again = prepared(await regenerate(stub, "a1"));
    expect(await ids(stub, again.checkpointId)).toEqual([]);
    await turn(stub, restart(again), newsOf("", [ai("b1")]));
    expect(await ids(stub)).toEqual(["h1", "b1"]);
    const otherwise = prepared(await edit(stub, "h1"));
    await turn(stub, restart(otherwise), newsOf("", [ai("c1")]));
    expect(await ids(stub)).toEqual([otherwise.human.id, "c1"]);
    expect(await askState(newThread().stub(), again.checkpointId)).toEqual({ found: false, refused: "unknown_thread" });
  });

  it("R-REPLAY-3 is the latest one that the user sees", async () => {
    const stub = newThread().stub();
    expect(await regenerate(stub, "a1")).toEqual(refusedAs("unknown_thread"));
    await create(stub);
    expect(await regenerate(stub, "a1")).toEqual(refusedAs("no_checkpoint"));
    await turn(stub, { input: [human("h1")] }, newsOf("", [ai("a1")]));
    const hidden: LangMessage = { ...ai("hidden"), additional_kwargs: { hide_from_ui: true } };
    const said = [ai("a2"), ai("a3", "So.", [{ id: "c", name: "f" }]), result("t3", "c"), hidden];
    await turn(stub, { input: [human("h2")] }, newsOf("", said));
    const refusals = Object.entries({
      none: "unknown_message",
      h2: "not_an_answer",
      h1: "not_an_answer",
      t3: "not_an_answer",
      hidden: "not_an_answer",
      a1: "not_the_latest_answer",
      a2: "not_the_latest_answer",
    });
    for (const [id, refused] of refusals) expect([id, await regenerate(stub, id)]).toEqual([id, refusedAs(refused)]);
    expect(await regenerate(stub, "a3")).toMatchObject({ prepared: true });
  });

  it("R-REPLAY-3 has a user's message and a run", async () => {
    const stub = newThread().stub();
    await create(stub);
    await update(stub, { input: [ai("a1")] });
    expect(await regenerate(stub, "a1")).toEqual(refusedAs("no_user_message"));
    await update(stub, { input: [human("h1"), ai("a2")] });
    expect(await regenerate(stub, "a2")).toEqual(refusedAs("no_run"));
  });

  it("R-REPLAY-4 may be one that was recorded and came to no state", async () => {
    const stub = newThread().stub();
    const { runId } = await begin(stub, { input: [human("h1")] });
    await stub.take(newsOf(runId, [ai("a1")], ended({ status: "interrupted" })));
    const interrupted = await begin(stub, { input: [human("h2")] });
    const { records, through } = newsOf(interrupted.runId, [ai("a2")]);
    await stub.take({ runId: interrupted.runId, records, through });
    await stub.take({
      runId: interrupted.runId,
      records: [],
      through: 9,
      withdrawn: ["a2"],
      end: ended({ status: "interrupted" }),
    });
    expect(await ids(stub)).toEqual(["h1", "a1", "h2"]);
    expect(await regenerate(stub, "a2")).toMatchObject({ human: { id: "h2" }, targetRunId: interrupted.runId });
    expect(await regenerate(stub, "a9")).toEqual(refusedAs("unknown_message"));
  });
});

describe("a message put otherwise", () => {
  it("R-REPLAY-5 is a new one in the place of the user's and all that followed", async () => {
    const stub = newThread().stub();
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const message: LangMessage = { ...human("h2"), content: [{ type: "text", text: "See." }, image], name: "Ann" };
    await turn(stub, { input: [human("h1")] }, newsOf("", [ai("a1")]));
    const runId = await turn(stub, { input: [message] }, newsOf("", [ai("a2")]));
    const answer = prepared(await edit(stub, "h2"));
    expect(answer).toMatchObject({
      human: { ...message, id: expect.any(String), content: [{ type: "text", text: "Otherwise." }, image] },
      metadata: {
        regenerate_from_message_id: "a2",
        regenerate_from_run_id: runId,
        regenerate_checkpoint_id: answer.checkpointId,
        replay_kind: "edit",
        edit_from_message_id: "h2",
        edit_message_id: answer.human.id,
        edit_version_group_id: "h2",
      },
      targetRunId: runId,
      sourceMessageIds: ["h2", "a2"],
    });
    expect(answer.human.id).not.toBe("h2");
    await turn(stub, restart(answer), newsOf("", [ai("b2")]));
    expect(await ids(stub)).toEqual(["h1", "a1", answer.human.id, "b2"]);
    const next = prepared(await edit(stub, answer.human.id, "Once more."));
    expect(next.metadata["edit_version_group_id"]).toBe("h2");
  });

  it("R-REPLAY-6 is the latest, of a turn that was answered with text and succeeded, and says something else", async () => {
    const stub = newThread().stub();
    await turn(stub, { input: [human("h1")] }, newsOf("", [ai("a1")]));
    await turn(stub, { input: [human("h2")] }, newsOf("", [ai("a2")]));
    expect(await edit(stub, "h9")).toEqual(refusedAs("unknown_message"));
    expect(await edit(stub, "h1")).toEqual(refusedAs("not_the_latest_turn"));
    expect(await edit(stub, "a2")).toEqual(refusedAs("not_the_latest_turn"));
    expect(await edit(stub, "h2", " \n")).toEqual(refusedAs("empty"));
    expect(await edit(stub, "h2", "Said in h2.")).toEqual(refusedAs("unchanged"));
    await turn(stub, { input: [human("h3")] }, newsOf("", [ai("a3", "", [{ id: "c", name: "t" }])]));
    expect(await edit(stub, "h3")).toEqual(refusedAs("not_an_answered_turn"));
    await turn(stub, { input: [human("h4")] }, newsOf("", [ai("a4")], ended({ status: "error", error: "It failed." })));
    expect(await edit(stub, "h4")).toEqual(refusedAs("not_successful"));
    await turn(stub, { input: [human("h5")] }, newsOf("", []));
    expect(await edit(stub, "h5")).toEqual(refusedAs("not_the_latest_turn"));
    await update(stub, { input: [human("h6"), ai("a6")] });
    expect(await edit(stub, "h6")).toEqual(refusedAs("no_run"));
  });
});
