// What a client starts to have an answer given again, or its message put otherwise; and each text with which that is refused.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { inOrder, MODEL, says } from "../support/agent-house.ts";
import {
  jsonOf,
  listOf,
  openDeerHouse,
  refusalOf,
  saying,
  textsOf,
  type DeerHouse,
  type Json,
} from "../support/deerflow.ts";

let house: DeerHouse;

beforeAll(async () => {
  house = await openDeerHouse({ attachWaitMs: 0 });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const get = async (path: string): Promise<Json> => jsonOf(await house.call("GET", path));
const list = async (path: string): Promise<Json[]> => listOf(await house.call("GET", path));
const refused = async (path: string, body: unknown): Promise<[number, unknown]> =>
  refusalOf(await house.call("POST", path, body));
const regenerating = (threadId: string, messageId: unknown): Promise<[number, unknown]> =>
  refused(`/threads/${threadId}/runs/regenerate/prepare`, { message_id: messageId });
const editing = (threadId: string, messageId: unknown, text = "Otherwise"): Promise<[number, unknown]> =>
  refused(`/threads/${threadId}/runs/edit-regenerate/prepare`, {
    human_message_id: messageId,
    replacement_text: text,
  });

/** A thread that holds these messages, and no run. */
async function holding(...messages: Json[]): Promise<string> {
  const id = await house.thread();
  await jsonOf(await house.call("POST", `/threads/${id}/state`, { values: { messages } }));
  return id;
}

const idsOf = ({ messages }: Json): string[] =>
  Array.isArray(messages) ? messages.map((message: unknown) => String(Object(message).id)) : [];

test("R-DFH-22 an answer is made anew by what is prepared, and the one before it is hidden when that succeeds", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Other.")));
  const { runId, values } = await house.run(id);
  const [human, answer]: Json[] = Object(values).messages;
  const path = `/threads/${id}/runs/regenerate/prepare`;
  const prepared = await jsonOf(await house.call("POST", path, { message_id: answer?.["id"] }));
  expect(prepared).toMatchObject({
    input: { messages: [{ type: "human", content: "Hi" }] },
    checkpoint: { checkpoint_ns: "", checkpoint_id: expect.any(String) },
    metadata: { regenerate_from_run_id: runId, regenerate_from_message_id: answer?.["id"] },
    target_run_id: runId,
  });
  const { input, checkpoint, metadata } = prepared;
  const anew = await house.run(id, { input, checkpoint, metadata });
  expect(textsOf(anew.values)).toEqual(["Hi", "Other."]);
  const shown = await list(`/threads/${id}/messages`);
  expect(new Set(shown.map(({ run_id: run }) => run))).toEqual(new Set([anew.runId]));
  expect(Object(await get(`/threads/${id}/runs/${runId}/messages`)).data.length).toBeGreaterThan(0);
  expect(await refused(path, { message_id: "nobody" })).toEqual([404, "Message nobody not found"]);
  expect(await refused(path, { message_id: human?.["id"] })).toEqual([
    409,
    "Only visible assistant messages can be regenerated",
  ]);
});

test("R-DFH-22 a user's message is put otherwise by what is prepared", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two.")));
  const { values } = await house.run(id);
  const human = String(Object(values).messages[0].id);
  const path = `/threads/${id}/runs/edit-regenerate/prepare`;
  const body = { human_message_id: human, replacement_text: "Hello" };
  const prepared = await jsonOf(await house.call("POST", path, body));
  expect(prepared).toMatchObject({
    input: { messages: [{ type: "human", content: "Hello" }] },
    metadata: { replay_kind: "edit", edit_from_message_id: human },
    replacement_human_message_id: expect.any(String),
    source_message_ids: expect.arrayContaining([human]),
  });
  const { input, checkpoint, metadata } = prepared;
  expect(textsOf((await house.run(id, { input, checkpoint, metadata })).values)).toEqual(["Hello", "Two."]);
  const none = await house.thread();
  expect(await refused(`/threads/${none}/runs/edit-regenerate/prepare`, body)).toEqual([
    404,
    `Thread ${none} has no checkpoint`,
  ]);
});

test("R-DFH-22 only the latest answer to a user is given again, and only one that a run gave", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two.")));
  const [, earlier] = idsOf((await house.run(id)).values);
  await house.run(id);
  expect(await regenerating(id, earlier)).toEqual([409, "Only the latest assistant message can be regenerated"]);
  const answer = { type: "ai", content: "So.", id: "a" };
  expect(await regenerating(await holding(answer), "a")).toEqual([
    409,
    "Could not find the user message for this assistant response",
  ]);
  expect(await regenerating(await holding({ type: "human", content: "Hi" }, answer), "a")).toEqual([
    409,
    "Could not find source run for assistant message",
  ]);
  const hidden = { ...answer, additional_kwargs: { hide_from_ui: true } };
  expect(await regenerating(await holding({ type: "human", content: "Hi" }, hidden), "a")).toEqual([
    409,
    "Only visible assistant messages can be regenerated",
  ]);
  const empty = await house.thread();
  expect(await regenerating(empty, "a")).toEqual([404, `Thread ${empty} has no checkpoint`]);
});

test("R-DFH-22 only the latest turn that succeeded is put otherwise, and only by another text", async () => {
  const id = await house.thread();
  house.provider.on(MODEL, inOrder(says("One."), says("Two."), says("", [["w", "wipe"]])));
  const [earlier] = idsOf((await house.run(id)).values);
  const latest = idsOf((await house.run(id, saying("And?"))).values)[2];
  const notLatest = [409, "Only the latest completed user turn can be edited"];
  expect(await editing(id, earlier)).toEqual(notLatest);
  expect(await editing(id, "nobody")).toEqual([404, "Message nobody not found"]);
  expect(await editing(id, latest, "And?")).toEqual([409, "Edited message is unchanged"]);
  expect(await editing(id, latest, " ")).toEqual([409, "Edited message cannot be empty"]);
  const waiting = idsOf((await house.run(id, saying("Wipe it."))).values)[4];
  expect(await editing(id, waiting)).toEqual([409, "Only completed assistant text turns can be edited"]);
  const asked = { type: "human", content: "Hi", id: "h" };
  expect(await editing(await holding(asked), "h")).toEqual(notLatest);
  expect(await editing(await holding(asked, { type: "ai", content: "So." }), "h")).toEqual([
    409,
    "Could not find source run for assistant message",
  ]);
});

test("R-DFH-22 a turn whose run was cut off is not put otherwise, and its answer may be given again", async () => {
  const id = await house.thread();
  const { runId, leave } = await house.hanging(id);
  await house.call("POST", `/threads/${id}/runs/${runId}/cancel?wait=1`);
  await leave();
  const [human, answer] = idsOf(Object((await get(`/threads/${id}/state`))["values"]));
  expect(await editing(id, human)).toEqual([409, "Only successful assistant runs can be edited and rerun"]);
  const prepared = await jsonOf(
    await house.call("POST", `/threads/${id}/runs/regenerate/prepare`, { message_id: answer }),
  );
  expect(prepared["target_run_id"]).toBe(runId);
});
