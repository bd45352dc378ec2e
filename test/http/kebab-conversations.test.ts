// Questions as turns of a conversation, over sockets: what is found for them, what a model reads, what the thread keeps, and what is refused.
import { createHash, randomUUID } from "node:crypto";
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { kebabErrorSchema } from "../../schemas/dialects/kebab.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { newCollection, openKebab, type Kebab } from "../support/kebab-house.ts";
import { kebabLines, kindsOf, type KebabLine } from "../support/kebab-lines.ts";
import { publishedFault } from "../support/kebab-schemas.ts";
import { openAiDelta, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { follow, isDelta } from "../support/run-reader.ts";
import { answer, MAIN, newName, until } from "./house.ts";

const KEYS = [randomUUID(), randomUUID()];
const bearer = (tenant: number) => ({ authorization: `Bearer ${KEYS[tenant]}` });
const hash = (key: string): string => createHash("sha256").update(key).digest("hex");
const page = `# Parcels

## Express shipping

Express shipping costs nine euros.

## Express duration

An express parcel arrives within two days.

## Warehouse

The warehouse stands in Bremen.
`;
const COSTS = "What does express shipping cost?";
const FOLLOW_UP = "and how long does it take?";

let provider: FaultProvider;
let kebab: Kebab;
let collection: string;

beforeAll(async () => {
  provider = await startFaultProvider();
  kebab = await openKebab(
    {
      targets: [
        { id: "main", adapter: "openai-chat", baseUrl: `${provider.origin}/main`, model: "test-model", retries: 0 },
      ],
      routes: { default: ["main"] },
      breaker: { failures: 0 },
      limits: { attachWaitMs: 0 },
      kebab: { texts: { noEvidence: "Nothing on this warehouse." } },
    },
    {
      vars: { API_KEYS: JSON.stringify(Object.fromEntries(KEYS.map((key, index) => [hash(key), `tenant-${index}`]))) },
    },
  );
  collection = newCollection();
  for (const tenant of KEYS.keys()) {
    const put = await kebab.call("PUT", `/collections/${collection}/documents/parcels.md`, page, {
      ...bearer(tenant),
      "content-type": "text/markdown",
    });
    expect(put.status).toBe(201);
  }
});
afterEach(() => provider.reset());
afterAll(async () => {
  await kebab.server.stop();
  await provider.stop();
});

interface Asking {
  conversation?: unknown;
  fields?: Record<string, unknown>;
  headers?: Record<string, string>;
}

const send = (question: string, { conversation, fields = {}, headers = {} }: Asking): Promise<Response> =>
  fetch(`${kebab.base}/ask`, {
    method: "POST",
    headers: { ...bearer(0), "content-type": "application/json", ...headers },
    body: JSON.stringify({ question, collection, ...fields, ...(conversation !== undefined && { conversation }) }),
  });

async function ask(question: string, asking: Asking = {}) {
  const response = await send(question, asking);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return { runId: response.headers.get("x-run-id") ?? "", text, lines: kebabLines(text) };
}

async function refused(response: Response, status: number) {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  const body: unknown = JSON.parse(text);
  expect(publishedFault("error", body)).toBeUndefined();
  return v.parse(kebabErrorSchema, body);
}

/** What the model was sent in its call of this number. */
function sent(index: number): { role: string; content: string }[] {
  const body: { messages: { role: string; content: string }[] } = JSON.parse(provider.calls(MAIN)[index]?.body ?? "");
  return body.messages;
}

const native = (path: string, method = "GET", tenant = 0): Promise<Response> =>
  fetch(`${kebab.server.origin}${path}`, { method, headers: bearer(tenant) });

const stateSchema = v.looseObject({
  values: v.looseObject({
    messages: v.array(v.looseObject({ type: v.string(), content: v.string() })),
    title: v.optional(v.string()),
  }),
});

const idsSchema = v.looseObject({ values: v.looseObject({ messages: v.array(v.looseObject({ id: v.string() })) }) });

/** What the thread says was said, and its title. */
async function keptIn(threadId: string) {
  const { values } = v.parse(stateSchema, await (await native(`/api/threads/${threadId}/state`)).json());
  return { said: values.messages.map(({ type, content }) => [type, content]), title: values.title };
}

const headings = (lines: readonly KebabLine[]): unknown[] =>
  lines.flatMap((line) =>
    line.schema_version === "answer_event.v1" && line.kind === "retrieval_done"
      ? line.hits.map(({ heading_path }) => heading_path.at(-1))
      : [],
  );

test("R-KB-70 R-KB-71 R-KB-72 R-KB-73 three turns: each is numbered, found with the last answer, and reads what was said", async () => {
  const conversation = newName();
  provider.on(MAIN, answer(["Nine euros for ", "express shipping [#1]."]));
  const first = await ask(COSTS, { conversation });
  expect(kindsOf(first.lines)).toEqual(["retrieval_done", "token", "token", "final", "answer.v1"]);
  for (const line of first.lines.slice(1, 3)) expect(line).toMatchObject({ kind: "token", turn_index: 0 });
  const turn = { conversation_id: conversation, turn_index: 0, grounded: true };
  expect(first.lines[3]).toMatchObject({ kind: "final", answer: turn });
  expect(first.lines[4]).toMatchObject(turn);

  const alone = await ask(FOLLOW_UP);
  expect(alone.lines.at(-1)).toMatchObject({ refusal_reason: "no_chunks", conversation_id: null, turn_index: null });
  provider.on(MAIN, answer(["Two days [#2]."]));
  const second = await ask(FOLLOW_UP, { conversation });
  expect(headings(second.lines)).toEqual(["Express shipping", "Express duration"]);
  expect(second.lines.at(-1)).toMatchObject({ turn_index: 1, grounded: true, citations: [{ marker: "[2]" }] });
  expect(sent(1).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(sent(1).slice(1, 3)).toEqual([
    { role: "user", content: COSTS },
    { role: "assistant", content: "Nine euros for express shipping." },
  ]);
  expect(sent(1)[3]?.content).toMatch(/^Sources:\n\n\[#1\] [^]*\n\nQuestion: and how long does it take\?$/);

  provider.on(MAIN, answer(["In Bremen [#1]."]));
  const third = await ask("Where is the warehouse?", { conversation });
  expect(headings(third.lines)[0]).toBe("Warehouse");
  expect(third.lines.at(-1)).toMatchObject({ turn_index: 2 });
  expect(
    sent(2)
      .map(({ content }) => content)
      .slice(1, 5),
  ).toEqual([COSTS, "Nine euros for express shipping.", FOLLOW_UP, "Two days."]);
  // The thread has the questions as they were asked, and the answers as they were given.
  expect(await keptIn(conversation)).toEqual({
    said: [
      ["human", COSTS],
      ["ai", "Nine euros for express shipping [#1]."],
      ["human", FOLLOW_UP],
      ["ai", "Two days [#2]."],
      ["human", "Where is the warehouse?"],
      ["ai", "In Bremen [#1]."],
    ],
    title: COSTS,
  });
  const again = await native(`/kebab/runs/${second.runId}`);
  expect(await again.text()).toBe(second.text);
});

test("R-KB-72 with a single hit a new topic is not drowned in the last answer", async () => {
  const conversation = newName();
  provider.on(MAIN, answer(["Nine euros for express shipping [#1]."]));
  await ask(COSTS, { conversation });
  provider.on(MAIN, answer(["In Bremen [#1]."]));
  const { lines } = await ask("Where is the warehouse?", { conversation, fields: { k: 1 } });
  expect(headings(lines)).toEqual(["Warehouse"]);
  expect(lines.at(-1)).toMatchObject({ turn_index: 1, grounded: true });
});

test("R-KB-71 every question counts: one that is refused, fails or is cancelled, and one that was asked natively", async () => {
  const conversation = newName();
  const none = await ask("Zebra? ".repeat(9), { conversation });
  expect(kindsOf(none.lines)).toEqual(["retrieval_done", "answer.v1"]);
  expect(none.lines.at(-1)).toMatchObject({ refusal_reason: "no_chunks", turn_index: 0 });
  // A refusal's words are not looked for.
  const near = await ask("zebra giraffe elephant Bremen", { conversation });
  expect(near.lines.at(-1)).toMatchObject({ refusal_reason: "score_gate", turn_index: 1 });
  provider.on(MAIN, [{ step: "head", status: 500, headers: { "content-length": "0" } }]);
  expect(kindsOf((await ask(COSTS, { conversation })).lines)).toEqual(["retrieval_done", "error.v1"]);
  provider.on(MAIN, streamScript(OPENAI_STREAM_TYPE, [openAiDelta({ content: "Nine " })], { end: "hang" }));
  const open = await send(COSTS, { conversation });
  const runId = open.headers.get("x-run-id") ?? "";
  const streamed = open.text();
  const watching = await follow(`${kebab.server.origin}/v1/runs/${runId}/events`, { headers: bearer(0) });
  await watching.until(isDelta("Nine "));
  watching.leave();
  expect((await kebab.call("POST", `/runs/${runId}/cancel`, undefined, bearer(0))).body).toMatchObject({
    answer: "Nine ",
    refusal_reason: "llm_stream_aborted",
    turn_index: 3,
  });
  await streamed;
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  expect((await ask(COSTS, { conversation })).lines.at(-1)).toMatchObject({ turn_index: 4, grounded: true });
  // What was not answered is not read by a model; a refusal is.
  expect(
    sent(2)
      .slice(1, -1)
      .map(({ content }) => content),
  ).toEqual([
    "Zebra? ".repeat(9).trim(),
    "Nothing on this warehouse.",
    "zebra giraffe elephant Bremen",
    expect.stringMatching(/^Nothing on this warehouse\.\nparcels\.md#L11-L13 0\.\d\d$/),
    COSTS,
    "Nine",
  ]);
  provider.on(MAIN, answer(["Hello."]));
  const started = await fetch(`${kebab.server.origin}/v1/runs?wait=20`, {
    method: "POST",
    headers: { ...bearer(0), "content-type": "application/json" },
    body: JSON.stringify({
      schemaVersion: "1.0",
      task: { kind: "text_to_text" },
      prompt: "Hi",
      threadId: conversation,
    }),
  });
  expect(started.status).toBe(200);
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  expect((await ask(COSTS, { conversation })).lines.at(-1)).toMatchObject({ turn_index: 6 });
  expect((await keptIn(conversation)).title).toBe("Zebra? Zebra? Zebra? Zebra? Zebra? Zebra");
});

test("R-KB-71 a question that is removed from its conversation has been asked, and an edited one is the same", async () => {
  const conversation = newName();
  const change = async (message: Record<string, unknown>): Promise<void> => {
    const changed = await fetch(`${kebab.server.origin}/api/threads/${conversation}/state`, {
      method: "POST",
      headers: { ...bearer(0), "content-type": "application/json" },
      body: JSON.stringify({ values: { messages: [message] } }),
    });
    expect(changed.status, await changed.text()).toBe(200);
  };
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  for (const turn_index of [0, 1]) {
    expect((await ask(COSTS, { conversation })).lines.at(-1)).toMatchObject({ turn_index });
  }
  const { values } = v.parse(idsSchema, await (await native(`/api/threads/${conversation}/state`)).json());
  const [first, , second] = values.messages.map(({ id }) => id);
  await change({ type: "remove", id: first });
  await change({ type: "human", id: second, content: "What does it cost?" });
  expect((await ask(COSTS, { conversation })).lines.at(-1)).toMatchObject({ turn_index: 2 });
});

test("R-KB-74 one question of a conversation is answered at a time, and its repeats are that run", async () => {
  const conversation = newName();
  const key = { "idempotency-key": randomUUID() };
  provider.on(MAIN, answer(["Nine euros [#1]."], { gateBefore: { index: 0, name: "more" } }));
  const both = await Promise.all([1, 2].map(() => send(COSTS, { conversation })));
  expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
  const [open, late] = both.toSorted((one, other) => one.status - other.status);
  if (open === undefined || late === undefined) throw new Error("both were answered");
  expect((await refused(late, 409)).details).toMatchObject({ reason: "conflict", field: "conversation" });
  expect((await refused(await send(COSTS, { conversation, headers: key }), 409)).details).toMatchObject({
    field: "conversation",
  });
  provider.open("more");
  expect(kebabLines(await open.text()).at(-1)).toMatchObject({ turn_index: 0 });
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  const [one, two] = await Promise.all([1, 2].map(() => ask(COSTS, { conversation, headers: key })));
  expect(two?.text).toBe(one?.text);
  expect(one?.lines.at(-1)).toMatchObject({ turn_index: 1 });
  await ask(COSTS, { conversation });
  expect((await ask(COSTS, { conversation, headers: key })).text).toBe(one?.text);
  expect(provider.calls(MAIN)).toHaveLength(3);
  const other = await refused(await send("Why?", { conversation, headers: key }), 409);
  expect(other.details).toMatchObject({ field: "header:Idempotency-Key" });
});

test("R-KB-70 R-KB-74 what is refused makes no conversation, and leaves one as it was", async () => {
  for (const conversation of ["", "a.b", "a b", "x".repeat(65), 5]) {
    expect((await refused(await send(COSTS, { conversation }), 400)).details).toMatchObject({ field: "conversation" });
  }
  const conversation = newName();
  await refused(await send(COSTS, { conversation, fields: { collection: "nobody" } }), 404);
  await refused(await send(COSTS, { conversation, fields: { route: "nowhere" } }), 400);
  await refused(await send(" ", { conversation }), 400);
  const lost = { "idempotency-key": randomUUID(), "last-event-id": "3" };
  expect((await refused(await send(COSTS, { conversation, headers: lost }), 400)).details).toMatchObject({
    field: "header:Last-Event-ID",
  });
  expect((await native(`/v1/threads/${conversation}`)).status).toBe(404);
  expect(provider.calls(MAIN)).toEqual([]);
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  expect((await ask(COSTS, { conversation })).lines.at(-1)).toMatchObject({ turn_index: 0 });
});

test("R-KB-70 a conversation is the tenant's own; one that is deleted is forgotten with its answers", async () => {
  const conversation = newName();
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  const { runId } = await ask(COSTS, { conversation });
  const theirs = await ask(COSTS, { conversation, headers: bearer(1) });
  expect(theirs.lines.at(-1)).toMatchObject({ turn_index: 0 });
  expect(sent(1).map(({ role }) => role)).toEqual(["system", "user"]);
  expect((await native(`/v1/threads/${conversation}`, "DELETE")).status).toBe(204);
  await until(async () => (await native(`/kebab/runs/${runId}`)).status === 404, "the run to be forgotten");
  expect((await native(`/v1/threads/${conversation}`, "GET", 1)).status).toBe(200);
  expect((await ask(FOLLOW_UP, { conversation })).lines.at(-1)).toMatchObject({
    refusal_reason: "no_chunks",
    turn_index: 0,
  });
});

test("R-KB-73 of a long conversation a model reads the newest, and its own question whole", async () => {
  const conversation = newName();
  for (const name of ["first", "second", "third"]) {
    provider.on(MAIN, answer([`The ${name} one. `, "Shipping is cheap. ".repeat(1000), "[#1]"]));
    await ask(`${name} ${COSTS}`, { conversation });
  }
  provider.on(MAIN, answer(["Nine euros [#1]."]));
  await ask(COSTS, { conversation });
  const [, ...messages] = sent(3);
  expect(messages.map(({ role, content }) => [role, content.split("\n")[0]?.slice(0, 14)])).toEqual([
    ["user", "third What doe"],
    ["assistant", "The third one."],
    ["user", "Sources:"],
  ]);
  expect(messages.at(-1)?.content.endsWith(`Question: ${COSTS}`)).toBe(true);
});

test("R-KB-71 R-KB-73 after a crash the conversation goes on with what was said", async () => {
  const conversation = newName();
  provider.on(MAIN, answer(["Nine euros for express shipping [#1]."]));
  await ask(COSTS, { conversation });
  provider.on(MAIN, [{ step: "hang" }]);
  const silent = await send(FOLLOW_UP, { conversation });
  const runId = silent.headers.get("x-run-id") ?? "";
  await provider.waitForCall(MAIN, 2);
  const cut = silent.text().catch(() => "");
  await kebab.server.kill();
  // The run may go on as soon as the server is there.
  provider.on(MAIN, answer(["Two days [#2]."]));
  await kebab.server.start();
  await cut;
  const lines = kebabLines(await (await native(`/kebab/runs/${runId}`)).text());
  expect(kindsOf(lines)).toEqual(["retrieval_done", "token", "final", "answer.v1"]);
  expect(lines.at(-1)).toMatchObject({ conversation_id: conversation, turn_index: 1, grounded: true });
  provider.on(MAIN, answer(["In Bremen [#1]."]));
  expect((await ask("Where is the warehouse?", { conversation })).lines.at(-1)).toMatchObject({ turn_index: 2 });
  expect((await keptIn(conversation)).said.map(([type]) => type)).toEqual([
    "human",
    "ai",
    "human",
    "ai",
    "human",
    "ai",
  ]);
});
