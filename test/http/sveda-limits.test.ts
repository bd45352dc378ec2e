// Who gets in: policies and grants over tools, throttles, and how many turns run at the same time.
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { gives, says, toolPath } from "../support/agent-house.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript } from "../support/provider-bytes/scripts.ts";
import { keyOf, tokenOf } from "../support/sveda-token.ts";
import { modelSays, openSvedaHouse, sentBody, type SvedaHouse, type Turn } from "../support/sveda-house.ts";
import { svedaText, withToken } from "../support/sveda.ts";
import { post } from "../support/api.ts";
import { startBare } from "../support/bare-server.ts";
import { newName } from "./house.ts";

const UNLIMITED = { stream: "0,1", token: "0,1", activePerVisitor: 0 };
const ATTEMPTS = { message: "Too Many Attempts." };
const STREAMS = { message: "Too many active streams." };

let house: SvedaHouse;

beforeAll(async () => {
  const policies = {
    reader: { mcp: { allow: ["*"], max_mode: "read" }, client: { allow: ["open_*"] } },
    nothing: {},
  };
  house = await openSvedaHouse({ policies, limits: { ...UNLIMITED, active: 2 } });
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

const clientTools = ["open_page", "close_page"].map((name) => ({ name, parameters: { type: "object" } }));
const refusal = ({ status, raw }: Turn): unknown => [status, JSON.parse(raw)];

test("R-SVH-19 policy and grants each filter the tools that a model is offered, the client's and the server's", async () => {
  const offered = async (fields: Record<string, unknown>): Promise<unknown> => {
    house.provider.reset();
    modelSays(house.provider, says("Hi."));
    await (await house.visitor(fields)).turn({ prompt: "Hi", clientTools });
    return (
      sentBody(house.provider, 0)
        .tools?.map((tool) => tool.function.name)
        .toSorted() ?? []
    );
  };
  expect(await offered({})).toEqual(["clock", "close_page", "open_page", "pay", "slow", "stock", "wipe"]);
  expect(await offered({ policy: "reader" })).toEqual(["clock", "open_page", "slow", "stock"]);
  expect(await offered({ policy: "reader", grants: { mcp: { allow: ["s*"] }, client: { allow: [] } } })).toEqual([
    "slow",
    "stock",
  ]);
  expect(await offered({ grants: { mcp: { allow: ["*"], max_mode: "write" } } })).toEqual([
    "clock",
    "pay",
    "slow",
    "stock",
  ]);
  expect(await offered({ policy: "nothing", grants: { mcp: { allow: ["*"] }, client: { allow: ["*"] } } })).toEqual([]);
});

test("R-SVH-28 more turns of a tenant than sveda.limits.active do not run at the same time; repeats and successors do", async () => {
  const held = () =>
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), { gateBefore: { index: 2, name: "on" } });
  modelSays(house.provider, held, held, held, held);
  const [ann, bob, eve] = await Promise.all([house.visitor(), house.visitor(), house.visitor()]);
  const ask = { chatId: newName(), messages: [{ id: "m1", role: "user", content: "Hi" }] };
  const [first, second] = [await ann.post("/stream", ask), await bob.post("/stream", ask)];
  expect([first.status, second.status]).toEqual([200, 200]);
  const refused = await eve.turn(ask);
  expect(refusal(refused)).toEqual([429, STREAMS]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  const repeat = ann.turn(ask);
  const successor = bob.post("/stream", {
    chatId: ask.chatId,
    messages: [{ id: "m2", role: "user", content: "Other" }],
  });
  expect((await successor).status).toBe(200);
  house.provider.open("on");
  expect(svedaText((await repeat).frames)).toBe("ab");
  await Promise.all([first.text(), second.text(), (await successor).text()]);
  expect((await eve.turn(ask)).status).toBe(200);
});

test("R-SVH-28 a visitor's turns are counted, and throttled, and so are those of an address; repeats are not", async () => {
  const limited = await openSvedaHouse({ limits: { ...UNLIMITED, stream: "2,60", ip: "3,60", activePerVisitor: 1 } });
  const { provider } = limited;
  try {
    const held = () =>
      streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), { gateBefore: { index: 2, name: "on" } });
    modelSays(provider, held, held, held);
    const ann = await limited.visitor();
    const ask = (id: string, chatId = newName()) => ({ chatId, messages: [{ id, role: "user", content: "Hi" }] });
    const one = ask("m1");
    const first = await ann.post("/stream", one);
    expect(first.status).toBe(200);
    expect(refusal(await ann.turn(ask("m1")))).toEqual([429, STREAMS]);
    const third = await ann.turn(ask("m1"));
    expect(refusal(third)).toEqual([429, ATTEMPTS]);
    const retryAfter = Number(third.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(3600);
    provider.open("on");
    expect((await ann.turn(one)).status).toBe(200);
    await first.text();
    const bob = await limited.visitor();
    expect((await bob.turn(ask("m1"))).status).toBe(200);
    expect(refusal(await bob.turn(ask("m2")))).toEqual([429, ATTEMPTS]);
    expect(refusal(await (await limited.visitor()).turn({ prompt: "Hi", model: "nobody" }))).toEqual([429, ATTEMPTS]);
  } finally {
    await limited.stop();
  }
});

test("R-SVH-28 the tenant's limit on active runs is told as one on streams", async () => {
  const limited = await openSvedaHouse({ limits: UNLIMITED }, { maxActiveRuns: 1 });
  const { provider } = limited;
  try {
    const script = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), {
      gateBefore: { index: 2, name: "on" },
    });
    modelSays(provider, script, says("c"));
    const visitor = await limited.visitor();
    const first = await visitor.post("/stream", { prompt: "Hi", chatId: "one" });
    const refused = await visitor.turn({ prompt: "Hi", chatId: "two" });
    expect(refusal(refused)).toEqual([429, STREAMS]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await visitor.chat("two")).toBeUndefined();
    expect(JSON.stringify(await (await visitor.get("/chat-histories")).json())).not.toContain("two");
    provider.open("on");
    await first.text();
    expect(svedaText((await visitor.turn({ prompt: "Hi", chatId: "two" })).frames)).toBe("c");
  } finally {
    await limited.stop();
  }
});

test("R-SVH-28 R-SVH-26 a decision that is refused for want of a place is not taken: the next one counts", async () => {
  const limited = await openSvedaHouse({ limits: UNLIMITED }, { maxActiveRuns: 1 });
  const { provider } = limited;
  try {
    const held = streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["a", "b"] }), {
      gateBefore: { index: 2, name: "on" },
    });
    modelSays(provider, says("May I?", [["t1", "pay"]]), held, says("As you wish."));
    provider.on(toolPath("pay"), gives("paid"));
    const visitor = await limited.visitor();
    await visitor.turn({ prompt: "Pay.", chatId: "one" });
    const before = await visitor.chat("one");
    const other = await visitor.post("/stream", { prompt: "Hi", chatId: "two" });
    const decide = (decision: string) =>
      visitor.turn({ prompt: "", chatId: "one", toolDecisions: [{ toolCallId: "t1", decision }] });
    expect(refusal(await decide("approve"))).toEqual([429, STREAMS]);
    expect(await visitor.chat("one")).toEqual(before);
    provider.open("on");
    await other.text();
    const denied = await decide("deny");
    expect([denied.raw.includes('"denied":true'), svedaText(denied.frames)]).toEqual([true, "As you wish."]);
    expect(provider.calls(toolPath("pay"))).toHaveLength(0);
  } finally {
    await limited.stop();
  }
});

test("R-SVH-29 a token whose policy is gone is 403, before throttles and models; histories need no policy; R-SVH-14 reading documents counts as a turn", async () => {
  const key = "a-key";
  const hash = createHash("sha256").update(key).digest("hex");
  const server = await startBare({
    config: {
      targets: [{ id: "demo", adapter: "demo" }],
      routes: { default: ["demo"] },
      sveda: { limits: { stream: "1,60" } },
    },
    vars: { API_KEYS: JSON.stringify({ [hash]: "tenant-a" }), TICKET_SECRET: "secret" },
  });
  try {
    const claims = { tenant: "tenant-a", visitor_id: "ann", expires_at: 9_999_999_999, policy: "gone" };
    const headers = withToken(tokenOf(keyOf("secret", "tenant-a"), JSON.stringify(claims)));
    for (const path of ["/stream", "/message", "/stream"]) {
      const answered = await post(`${server.origin}/sveda${path}`, { prompt: "Hi", model: "nobody" }, headers);
      expect([answered.status, await answered.json()]).toEqual([403, { message: "unknown policy: gone" }]);
    }
    expect((await fetch(`${server.origin}/sveda/embed/config`, { headers })).status).toBe(403);
    expect((await fetch(`${server.origin}/sveda/chat-histories`, { headers })).status).toBe(200);
    const extract = async (own: Record<string, string>): Promise<Response> => {
      const body = new FormData();
      body.append("files", new Blob(["hi"]), "a.txt");
      return fetch(`${server.origin}/sveda/documents/extract`, { method: "POST", headers: own, body });
    };
    expect((await extract(headers)).status).toBe(200);
    const refused = await extract(headers);
    expect([refused.status, await refused.json()]).toEqual([429, ATTEMPTS]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const bob = tokenOf(keyOf("secret", "tenant-a"), JSON.stringify({ ...claims, visitor_id: "bob" }));
    expect((await extract(withToken(bob))).status).toBe(200);
  } finally {
    await server.stop();
  }
});

test("R-SVH-30 histories: newest first, renamed, deleted with the run that is live, each visitor's own", async () => {
  const visitor = await house.visitor();
  modelSays(
    house.provider,
    says("One."),
    says("Two."),
    streamScript(OPENAI_STREAM_TYPE, openAiChat({ deltas: ["x", "y"] }), { gateBefore: { index: 2, name: "never" } }),
  );
  house.provider.on(toolPath("clock"), gives(1));
  const [older, newer] = ["a/b c", "ü"];
  await visitor.turn({ prompt: "First", chatId: older });
  const { runId } = await visitor.turn({ prompt: "Second", chatId: newer });
  const list = async () => {
    const answer: { histories: Record<string, unknown>[] } = JSON.parse(
      await (await visitor.get("/chat-histories")).text(),
    );
    return answer.histories;
  };
  expect((await list()).map(({ chatId }) => chatId)).toEqual([newer, older]);
  expect(Object.keys((await list())[0] ?? {}).toSorted()).toEqual(
    ["chatId", "createdAt", "id", "preview", "title", "tokensUsed", "updatedAt", "version"].toSorted(),
  );
  const at = (chatId: string) => `/chat-histories/${encodeURIComponent(chatId)}`;
  const change = (method: string, path: string, body?: unknown) =>
    fetch(`${house.base}${path}`, {
      method,
      headers: { ...visitor.headers, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const renamed = await change("PATCH", at(older), { title: "  Mine  " });
  expect([renamed.status, await renamed.json()]).toEqual([200, { success: true }]);
  expect((await list())[0]).toMatchObject({ chatId: older, title: "Mine" });
  const untitled = await change("PATCH", at(older), { title: "  " });
  expect([untitled.status, await untitled.json()]).toEqual([422, { message: "title is required" }]);
  expect((await change("PATCH", at(older), {})).status).toBe(422);
  const outcome = async () => (await fetch(`${house.runs}/${runId}/outcome`)).status;
  expect(await outcome()).toBe(200);
  const live = await visitor.post("/stream", { prompt: "Third", chatId: newer });
  await house.provider.reached("never");
  const deleted = await change("DELETE", at(newer));
  expect([deleted.status, await deleted.json()]).toEqual([200, { success: true }]);
  expect(await live.text()).toContain('"finishReason":"cancelled"');
  await expect.poll(outcome).toBe(404);
  expect((await list()).map(({ chatId }) => chatId)).toEqual([older]);
  const stranger = await house.visitor();
  for (const response of [
    await change("PATCH", at("nobody"), { title: "x" }),
    await change("DELETE", at(newer)),
    await visitor.get(at(newer)),
    await stranger.get(at(older)),
  ]) {
    expect([response.status, await response.text()]).toEqual([404, ""]);
  }
});
