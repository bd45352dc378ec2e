// The Sveda family's answers, good and bad, held against what the OpenAPI document says of them.
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from "vitest";
import { gives, says, toolPath } from "../support/agent-house.ts";
import { post } from "../support/api.ts";
import { descriptionOf, type Description } from "../support/described.ts";
import { errorScript } from "../support/provider-bytes/scripts.ts";
import { modelSays, openSvedaHouse, type SvedaHouse, type Visitor } from "../support/sveda-house.ts";
import { newName } from "./house.ts";

const MAX_BODY = 20_000;
const IMAGE = { type: "image", url: "https://pictures.test/a.png", mediaType: "image/png" };

let house: SvedaHouse;
let description: Description;
let visitor: Visitor;
const answered = new Map<string, number[]>();

beforeAll(async () => {
  house = await openSvedaHouse(
    { limits: { token: "0,1", stream: "6,1" }, appearance: { color: "red" } },
    { attachWaitMs: 0, maxBodyBytes: MAX_BODY, maxPromptBytes: 4000 },
  );
  description = await descriptionOf(house.server.origin);
});
beforeEach(async () => {
  visitor = await house.visitor();
});
afterEach(() => house.provider.reset());
afterAll(() => house.stop());

/** Holds an answer against the description and remembers its status. */
async function isAsDescribed(operation: string, asked: Response | Promise<Response>, status: number): Promise<void> {
  const response = await asked;
  expect([operation, response.status]).toEqual([operation, status]);
  expect(await description.faultOf(operation, response)).toBeUndefined();
  answered.set(operation, [...(answered.get(operation) ?? []), status]);
}

const send = (path: string, method: string, body?: unknown): Promise<Response> =>
  fetch(`${house.base}${path}`, {
    method,
    headers: { ...visitor.headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

/** What every operation with a JSON body says of bodies that it cannot read. */
async function refusesBodies(operation: string, path: string): Promise<void> {
  const method = operation.split(" ")[0] ?? "";
  const raw = (body: string, type: string) =>
    fetch(`${house.base}${path}`, { method, body, headers: { ...visitor.headers, "content-type": type } });
  await isAsDescribed(operation, raw("{", "application/json"), 400);
  await isAsDescribed(operation, raw("{}", "text/plain"), 415);
  await isAsDescribed(operation, raw("[]", "application/json"), 422);
  await isAsDescribed(operation, raw(`"${"x".repeat(MAX_BODY)}"`, "application/json"), 413);
}

test("R-DESC-1 a turn's answers are as they are described", async () => {
  const operation = "POST /sveda/stream";
  const chatId = newName();
  modelSays(
    house.provider,
    says("", [
      ["a", "clock"],
      ["b", "wipe"],
    ]),
    says("Hello."),
    errorScript(400, {}, "{}"),
  );
  house.provider.on(toolPath("clock"), gives({ links: [{ label: "Clock", url: "https://clock.test/" }] }));
  const body = { chatId, messages: [{ role: "user", content: "Hi", parts: [IMAGE] }], clientTools: [{ name: "page" }] };
  const key = { "idempotency-key": newName() };
  await isAsDescribed(operation, visitor.post("/stream", body, key), 200);
  await isAsDescribed(operation, visitor.post("/stream", body, { ...key, "last-event-id": "999" }), 400);
  await isAsDescribed(operation, visitor.post("/stream", { chatId, prompt: "And?" }), 409);
  await isAsDescribed("GET /sveda/chat-histories/{chatId}", visitor.get(`/chat-histories/${chatId}`), 200);
  await isAsDescribed("GET /sveda/chat-histories", visitor.get("/chat-histories"), 200);
  const toolDecisions = [{ toolCallId: "b", decision: "deny" }];
  await isAsDescribed(operation, visitor.post("/stream", { chatId, toolDecisions }), 200);
  await isAsDescribed(operation, visitor.post("/stream", { chatId: newName(), prompt: "Fail." }), 200);
  await isAsDescribed(operation, visitor.post("/stream", { prompt: "Hi", model: "none" }), 422);
  await isAsDescribed(operation, visitor.post("/stream", { prompt: "x".repeat(5000) }), 413);
  await refusesBodies(operation, "/stream");
  await isAsDescribed(operation, post(`${house.base}/stream`, { prompt: "Hi" }), 401);
  const spent = Array.from({ length: 7 }, () => visitor.post("/stream", { prompt: "Hi", model: "none" }));
  const refused = (await Promise.all(spent)).filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const response of refused) await isAsDescribed(operation, response, 429);
});

test("R-DESC-1 a whole message, a run's stream and its cancel are as they are described", async () => {
  const operation = "POST /sveda/message";
  modelSays(house.provider, says("Hello."), errorScript(400, {}, "{}"));
  const first = await visitor.post("/message", { chatId: newName(), prompt: "Hi" });
  const run = `/runs/${first.headers.get("x-run-id")}`;
  await isAsDescribed(operation, first, 200);
  await isAsDescribed(operation, visitor.post("/message", { chatId: newName(), prompt: "Fail." }), 500);
  await refusesBodies(operation, "/message");
  await isAsDescribed("GET /sveda/runs/{runId}", visitor.get(run), 200);
  await isAsDescribed("GET /sveda/runs/{runId}", visitor.get(run, { "last-event-id": "x" }), 400);
  await isAsDescribed("GET /sveda/runs/{runId}", visitor.get("/runs/none"), 404);
  await isAsDescribed("GET /sveda/runs/{runId}", fetch(`${house.base}${run}`), 401);
  await isAsDescribed("POST /sveda/runs/{runId}/cancel", send(`${run}/cancel`, "POST"), 200);
  await isAsDescribed("POST /sveda/runs/{runId}/cancel", send("/runs/none/cancel", "POST", {}), 404);
  await refusesBodies("POST /sveda/runs/{runId}/cancel", `${run}/cancel`);
});

test("R-DESC-1 chats are listed, read, renamed and deleted as it is described", async () => {
  const operation = (method: string) => `${method} /sveda/chat-histories/{chatId}`;
  const path = `/chat-histories/${newName()}`;
  for (const [method, body] of [["GET"], ["PATCH", { title: "New" }], ["DELETE"]] as const) {
    await isAsDescribed(operation(method), send(path, method, body), 404);
  }
  modelSays(house.provider, says("Hello."));
  await visitor.turn({ chatId: path.split("/")[2], prompt: "Hi" });
  await isAsDescribed(operation("PATCH"), send(path, "PATCH", { title: "New" }), 200);
  await isAsDescribed(operation("PATCH"), send(path, "PATCH", { title: " " }), 422);
  await refusesBodies(operation("PATCH"), path);
  await isAsDescribed(operation("DELETE"), send(path, "DELETE"), 200);
});

test("R-DESC-1 documents and reports are taken as it is described", async () => {
  const form = new FormData();
  form.append("files[]", new File(["text"], "a.txt"));
  form.append("files[]", new File([new Uint8Array([0xff])], "b.bin"));
  const extract = (body: FormData | string) =>
    fetch(`${house.base}/documents/extract`, { method: "POST", headers: visitor.headers, body });
  await isAsDescribed("POST /sveda/documents/extract", extract(form), 200);
  await isAsDescribed("POST /sveda/documents/extract", extract("no form"), 422);
  const forms = await Promise.all(Array.from({ length: 5 }, () => extract("no form")));
  const [tooMany] = forms.filter(({ status }) => status === 429);
  await isAsDescribed("POST /sveda/documents/extract", tooMany ?? Response.error(), 429);
  const report = "POST /sveda/content-reports";
  await isAsDescribed(report, visitor.post("/content-reports", { reason: "rude", excerpt: "..." }), 201);
  await isAsDescribed(report, visitor.post("/content-reports", { reason: "" }), 400);
  await refusesBodies(report, "/content-reports");
  await isAsDescribed("GET /sveda/content-reports", fetch(`${house.base}/content-reports`), 200);
});

test("R-DESC-1 tokens, the widget's settings and the server's state are as they are described", async () => {
  const operation = "POST /sveda/embed/token";
  const grants = { mcp: { allow: ["*"], max_mode: "read" } };
  const minted = await post(`${house.base}/embed/token`, { grants });
  await isAsDescribed(operation, minted.clone(), 200);
  await isAsDescribed(operation, post(`${house.base}/embed/token`, { policy: "none" }), 422);
  await refusesBodies(operation, "/embed/token");
  await isAsDescribed("GET /sveda/embed/config", visitor.get("/embed/config"), 200);
  const { token }: { token: string } = JSON.parse(await minted.text());
  const granted = { "x-sveda-embed-token": token };
  await isAsDescribed("GET /sveda/embed/config", fetch(`${house.base}/embed/config`, { headers: granted }), 200);
  await isAsDescribed("GET /sveda/embed/config", fetch(`${house.base}/embed/config`), 401);
  await isAsDescribed("GET /sveda/health", fetch(`${house.base}/health`), 200);
  await isAsDescribed("GET /sveda/ready", fetch(`${house.base}/ready`), 200);
});

test("R-DESC-1 every described operation of the family was answered well above", () => {
  const done = [...answered].filter(([, statuses]) => statuses.some((status) => status < 300)).map(([name]) => name);
  expect(done.toSorted()).toEqual(description.operations("/sveda/").toSorted());
});

test("R-DESC-1 the schema of a turn takes what the server takes, and refuses a wrong type", () => {
  expect(description.fits("SvedaStreamRequest", { prompt: "Hi", chatId: null, more: 1 })).toBe(true);
  expect(description.fits("SvedaStreamRequest", { prompt: 1 })).toBe(false);
  expect(description.fits("SvedaStreamRequest", { messages: [{ role: "robot" }] })).toBe(false);
  expect(description.fits("SvedaStreamEvent", { type: "text.delta", delta: "a" })).toBe(true);
  expect(description.fits("SvedaStreamEvent", { type: "text.delta" })).toBe(false);
  expect(description.fits("SvedaEmbedTokenRequest", { grants: { client: { allow: ["*"] } } })).toBe(true);
  expect(description.fits("SvedaEmbedTokenRequest", { grants: { client: ["*"] } })).toBe(false);
});
