// The chat view of the console in Chromium, as its users click it: a scripted provider, a scripted tool server, the real product
// between them and the page. Screenshots are kept in dist/screenshots for people to look at.
import { createHash } from "node:crypto";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launchChromium } from "../support/chromium.ts";
import { listen, photograph, textOf, until } from "../support/console-page.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import type { ProviderCall } from "../support/fault-provider/call-log.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import {
  openAiChat,
  openAiError,
  OPENAI_STREAM_TYPE,
  type OpenAiChatOptions,
} from "../support/provider-bytes/openai-chat.ts";
import { answerScript, errorScript, streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";

const MODEL = "/main/chat/completions";
const LETTER = "/tools/letter";
const LOOK = "/tools/look";
const KEY = "a-tenant-key";

let provider: FaultProvider;
let server: Holdfast;
let proxy: CuttingProxy;
let browser: Browser;
let context: BrowserContext;
/** Page errors, console errors (the browser reports CSP violations there) and failed resources. */
let complaints: string[] = [];

const toolOf = (name: string, path: string, more: Record<string, unknown> = {}) => ({
  name,
  description: `Does ${name}.`,
  url: `${provider.origin}${path}`,
  parameters: { type: "object", properties: { to: { type: "string" } } },
  ...more,
});
const configOf = () => ({
  targets: [
    { id: "main", adapter: "openai-chat", baseUrl: `${provider.origin}/main`, model: "test-model", retries: 0 },
    { id: "demo-tools", adapter: "demo", model: "demo-tools" },
  ],
  routes: { default: ["main"], "demo-tools": ["demo-tools"] },
  breaker: { failures: 0 },
  limits: { heartbeatMs: 300 },
  tools: [toolOf("send_letter", LETTER, { confirmation: "required", mode: "write" }), toolOf("look_up", LOOK)],
  sveda: { maxSteps: 2, limits: { stream: "0,1", token: "0,1" } },
});

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startHoldfast({ config: configOf() });
  proxy = await startCuttingProxy(server.port);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await proxy.stop();
  await server.stop();
  await provider.stop();
});
beforeEach(async () => {
  complaints = [];
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
});
afterEach(async () => {
  await context.close();
  provider.reset();
});

/** What the model says to a turn; a title is asked for without tools. */
function play(turn: (call: ProviderCall, index: number) => Script, title = "A fine title"): void {
  let turns = 0;
  provider.on(MODEL, (call) => (isTurn(call) ? turn(call, turns++) : say({ deltas: [title] })));
}
const isTurn = ({ body }: ProviderCall): boolean => body.includes('"get_local_time"');
const turnCalls = (): readonly ProviderCall[] => provider.calls(MODEL).filter(isTurn);

function say(options: OpenAiChatOptions, stream: StreamOptions = {}): Script {
  const usage = { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 };
  return streamScript(OPENAI_STREAM_TYPE, openAiChat({ usage, ...options }), stream);
}
const call = (name: string, input: Record<string, unknown>, id = `call_${name}`) => ({
  id,
  name,
  arguments: [JSON.stringify(input)],
});
const tells = (output: unknown): Script => errorScript(200, {}, JSON.stringify(output));

async function openChat(origin = server.origin): Promise<Page> {
  const page = listen(await context.newPage(), complaints);
  await page.goto(`${origin}/#chat`);
  await until(page, "#chat-suggestions button");
  return page;
}
async function ask(page: Page, text: string): Promise<void> {
  await page.getByTestId("chat-prompt").fill(text);
  await page.keyboard.press("Enter");
}
const atRest = (page: Page): Promise<void> => until(page, '#talk[data-phase="idle"]');
/** The texts of the newest answer, one after another. */
const answerOf = async (page: Page): Promise<string> =>
  (await page.locator('.message[data-role="assistant"]').last().locator(".message-text").allTextContents()).join("");
async function untilAnswer(page: Page, part: string): Promise<void> {
  const shows = (wanted: string): boolean =>
    [...document.querySelectorAll(".message-text")].at(-1)?.textContent?.includes(wanted) === true;
  await page.waitForFunction(shows, part, { polling: 50 });
}
const card = (page: Page, tool: string): Locator => page.locator(`.call[data-tool="${tool}"]`).last();
const cardIs = (page: Page, tool: string, state: string): Promise<void> =>
  until(page, `.call[data-tool="${tool}"][data-state="${state}"]`);
const decide = (page: Page, word: "Approve" | "Deny", tool: string): Promise<void> =>
  page.getByRole("button", { name: `${word} ${tool}` }).click();
const focused = (page: Page): Promise<string | undefined> => page.evaluate(() => document.activeElement?.id);
const words = Array.from({ length: 60 }, (_, index) => `word-${index} `);

test("R-SVV-1 an answer streams in, its reasoning folded, markup as text, with usage and a title", async () => {
  const deltas = ["Write it <b>down</b>, ", "<img src=x onerror=alert(1)> ", "every night.", "\n\nAlways."];
  play(() => say({ reasoning: ["Let me ", "think."], deltas }, { gateBefore: { index: 5, name: "rest" } }));
  const page = await openChat();
  await photograph(page, "chat-empty");
  await ask(page, "Why does a lighthouse keeper write everything down?");
  await untilAnswer(page, "onerror");
  expect(await textOf(page, "chat-status")).toBe("Answering…");
  // The chat is listed under its question until it has a better title.
  await until(page, "#chat-list a[aria-current]");
  expect(await textOf(page, "chat-list")).toContain("Why does a lighthouse keeper");
  expect(await page.getByTestId("chat-stop").isVisible()).toBe(true);
  await photograph(page, "chat-streaming");
  provider.open("rest");
  await atRest(page);
  expect(await answerOf(page)).toBe(deltas.join(""));
  expect(await page.locator("#messages img, #messages b").count()).toBe(0);
  const thoughts = page.locator(".thoughts");
  expect(await thoughts.getAttribute("open")).toBeNull();
  await thoughts.locator("summary").click();
  expect(await thoughts.locator(".prose").innerText()).toBe("Let me think.");
  expect(await textOf(page, "chat-context")).toContain("Context 1 % of 128,000 tokens");
  expect(await textOf(page, "chat-title")).toBe("A fine title");
  await page.waitForFunction(
    () => document.querySelector("#chat-list")?.textContent?.includes("A fine title") === true,
  );
  expect(await page.title()).toBe("A fine title · Holdfast console");
  expect(turnCalls()).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test("R-SVV-5 the page's own tools run after a yes, or at once; a no is told to the model", async () => {
  play(() => say({ deltas: ["unused"] }));
  const page = await openChat();
  await page.getByRole("button", { name: "Change the accent color to violet." }).focus();
  await page.keyboard.press("Enter");
  await cardIs(page, "change_accent_color", "waiting");
  await atRest(page);
  // The suggestion is gone, the keyboard is not.
  expect(await focused(page)).toBe("chat-prompt");
  await photograph(page, "chat-page-tool");
  expect(await page.evaluate(() => document.documentElement.dataset["accent"])).toBeUndefined();
  await decide(page, "Approve", "change_accent_color");
  await untilAnswer(page, '{"success":true,"color":"violet"}');
  await atRest(page);
  expect(await page.evaluate(() => document.documentElement.dataset["accent"])).toBe("violet");
  await cardIs(page, "change_accent_color", "done");
  await ask(page, "What time is it here?");
  await untilAnswer(page, "timeZone");
  await atRest(page);
  await cardIs(page, "get_local_time", "done");
  await ask(page, "Change the accent color to rose.");
  await cardIs(page, "change_accent_color", "waiting");
  await atRest(page);
  await decide(page, "Deny", "change_accent_color");
  await untilAnswer(page, "denied");
  await atRest(page);
  await cardIs(page, "change_accent_color", "denied");
  expect(await page.evaluate(() => document.documentElement.dataset["accent"])).toBe("violet");
  await photograph(page, "chat-page-tools-done");
  const seen = await page.locator("#messages").innerText();
  await page.reload();
  await cardIs(page, "change_accent_color", "denied");
  expect(await page.locator("#messages").innerText()).toBe(seen);
  expect(complaints).toEqual([]);
});

test("R-SVV-4 a server tool runs once after a yes, and not after a no", async () => {
  provider.on(LETTER, tells({ links: [{ label: "Receipt", url: "https://post.example/1" }] }));
  play((_call, index) =>
    index % 2 === 0
      ? say({ deltas: ["I will write. "], toolCalls: [call("send_letter", { to: "Ada" }, `call_${index}`)] })
      : say({ deltas: ["That is settled."] }),
  );
  const page = await openChat();
  await ask(page, "Write to Ada.");
  await cardIs(page, "send_letter", "waiting");
  await atRest(page);
  expect(await card(page, "send_letter").locator("pre").first().innerText()).toContain('"to": "Ada"');
  expect(await page.getByTestId("chat-send").isDisabled()).toBe(true);
  expect(await textOf(page, "chat-status")).toBe("Waiting for you.");
  await photograph(page, "chat-approval");
  // It waits as long as it must.
  await page.reload();
  await cardIs(page, "send_letter", "waiting");
  expect(provider.calls(LETTER)).toHaveLength(0);
  await decide(page, "Approve", "send_letter");
  await untilAnswer(page, "settled");
  await atRest(page);
  await cardIs(page, "send_letter", "done");
  expect(provider.calls(LETTER).map(({ body }) => JSON.parse(body))).toEqual([{ to: "Ada" }]);
  const link = card(page, "send_letter").getByRole("link", { name: "Receipt" });
  expect(await link.getAttribute("href")).toBe("https://post.example/1");
  expect(await link.getAttribute("rel")).toContain("noopener");
  await photograph(page, "chat-approved");

  await ask(page, "Write again.");
  await page.waitForFunction(() => document.querySelectorAll('.call[data-state="waiting"]').length === 1);
  await atRest(page);
  await decide(page, "Deny", "send_letter");
  await cardIs(page, "send_letter", "denied");
  await atRest(page);
  expect(await answerOf(page)).toBe("That is settled.");
  expect(provider.calls(LETTER)).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test("R-SVV-4 R-SVV-5 an answer that asks for both goes on from all decisions at once", async () => {
  provider.on(LETTER, tells({ sent: true }));
  play((_call, index) =>
    index === 0
      ? say({
          toolCalls: [
            call("send_letter", { to: "Ada" }, "call_a"),
            call("send_letter", { to: "Bob" }, "call_b"),
            call("change_accent_color", { color: "amber" }, "call_c"),
          ],
        })
      : say({ deltas: ["All done."] }),
  );
  const page = await openChat();
  await ask(page, "Write to both, in amber.");
  await page.waitForFunction(() => document.querySelectorAll('.call[data-state="waiting"]').length === 3);
  await atRest(page);
  await page.getByRole("button", { name: "Approve send_letter" }).first().click();
  await cardIs(page, "send_letter", "approved");
  const badge = page.locator('.call[data-tool="send_letter"]').first().locator(".badge");
  expect(await badge.textContent()).toBe("approved");
  await photograph(page, "chat-decided");
  // Until it is sent it can be said otherwise, and back.
  await page.getByRole("button", { name: "Deny instead send_letter" }).focus();
  await page.keyboard.press("Enter");
  await cardIs(page, "send_letter", "refused");
  expect(await badge.textContent()).toBe("denied");
  expect(await page.evaluate(() => document.activeElement?.className)).toBe("call");
  await page.getByRole("button", { name: "Approve instead send_letter" }).click();
  await cardIs(page, "send_letter", "approved");
  await page.getByRole("button", { name: "Deny send_letter" }).click();
  expect(provider.calls(LETTER)).toHaveLength(0);
  await decide(page, "Approve", "change_accent_color");
  await untilAnswer(page, "All done.");
  await atRest(page);
  expect(provider.calls(LETTER).map(({ body }) => JSON.parse(body))).toEqual([{ to: "Ada" }]);
  const told: { messages: { role: string; tool_call_id?: string; content: string }[] } = JSON.parse(
    turnCalls()[1]?.body ?? "",
  );
  const results = told.messages.filter(({ role }) => role === "tool");
  expect(Object.fromEntries(results.map(({ tool_call_id, content }) => [tool_call_id, JSON.parse(content)]))).toEqual({
    call_a: { sent: true },
    call_b: expect.objectContaining({ denied: true }),
    call_c: { success: true, color: "amber" },
  });
  expect(turnCalls()).toHaveLength(2);
  expect(complaints).toEqual([]);
});

test("R-SVV-4 a page whose decision came second says which one stood", async () => {
  provider.on(LETTER, tells({ sent: true }));
  play((_call, index) =>
    index === 0 ? say({ toolCalls: [call("send_letter", { to: "Ada" })] }) : say({ deltas: ["It is sent."] }),
  );
  const page = await openChat();
  await ask(page, "Write to Ada.");
  await cardIs(page, "send_letter", "waiting");
  await atRest(page);
  const other = listen(await context.newPage(), complaints);
  await other.goto(page.url());
  await cardIs(other, "send_letter", "waiting");
  await decide(other, "Approve", "send_letter");
  await untilAnswer(other, "It is sent.");
  await decide(page, "Deny", "send_letter");
  await untilAnswer(page, "It is sent.");
  await atRest(page);
  expect(await card(page, "send_letter").innerText()).toContain("Another page decided first: the call was approved.");
  expect(await card(other, "send_letter").innerText()).not.toContain("Another page");
  expect(provider.calls(LETTER)).toHaveLength(1);
  await photograph(page, "chat-overruled");
  expect(complaints).toEqual([]);
});

test("R-SVV-11 what cannot be sent is told why, and drafts stay with their chats", async () => {
  play((_call, index) =>
    index === 0 ? say({ toolCalls: [call("send_letter", { to: "Ada" })] }) : say({ deltas: ["Hello."] }),
  );
  const page = await openChat();
  await ask(page, "Write to Ada.");
  await cardIs(page, "send_letter", "waiting");
  await atRest(page);
  await ask(page, "And to Bob.");
  await page.waitForFunction(() => document.querySelector("#chat-status")?.textContent?.includes("approve or deny"));
  expect(await page.getByTestId("chat-prompt").inputValue()).toBe("And to Bob.");
  expect(turnCalls()).toHaveLength(1);
  await page.getByTestId("new-chat").click();
  expect(await page.getByTestId("chat-prompt").inputValue()).toBe("");
  await ask(page, "Hello?");
  await untilAnswer(page, "Hello.");
  await page
    .getByRole("link", { name: /A fine title/ })
    .last()
    .click();
  await cardIs(page, "send_letter", "waiting");
  expect(await page.getByTestId("chat-prompt").inputValue()).toBe("And to Bob.");
  expect(complaints).toEqual([]);
});

test("R-SVV-10 links can be followed and code stands by itself, in a text that grows", async () => {
  const deltas = [
    "See https://exam",
    "ple.org/a?b=1, then:\n\n``",
    "`js\nconst a = '<img src=x onerror=alert(1)>';\n",
    `const long = "${"x".repeat(300)}"; // https://code.example`,
    "\n```\n\nThat is <b>all</b>. javascript:alert(1)",
  ];
  play(() => say({ deltas }, { gateBefore: { index: 4, name: "rest" } }));
  const page = await openChat();
  await ask(page, "Show me.");
  await page.waitForFunction(() => document.querySelector(".message-text pre")?.textContent?.includes("onerror"));
  const drawn = await Promise.all(["a", "pre"].map((tag) => page.locator(`.message-text ${tag}`).elementHandle()));
  provider.open("rest");
  await atRest(page);
  await untilAnswer(page, "javascript:");
  // What was there has grown; it was not written anew.
  for (const element of drawn) expect(await element?.evaluate((node) => node.isConnected)).toBe(true);
  const links = page.locator(".message-text a");
  expect(await links.count()).toBe(1);
  expect(await links.getAttribute("href")).toBe("https://example.org/a?b=1");
  expect(await links.getAttribute("rel")).toBe("noopener noreferrer");
  const code = page.locator(".message-text pre");
  expect(await code.textContent()).toBe(
    `const a = '<img src=x onerror=alert(1)>';\nconst long = "${"x".repeat(300)}"; // https://code.example`,
  );
  expect(await page.locator("#messages img, #messages b").count()).toBe(0);
  const seen = await page.locator("#messages").innerText();
  await photograph(page, "chat-code");
  await page.reload();
  await untilAnswer(page, "javascript:");
  expect(await page.locator("#messages").innerText()).toBe(seen);
  expect(complaints).toEqual([]);
});

test("R-SVV-3 R-SVV-2 a reload in mid-answer goes on with the same answer, paid once", async () => {
  play(() => say({ deltas: words }, { gateBefore: { index: 30, name: "rest" } }));
  const page = await openChat();
  await ask(page, "Count for me.");
  await untilAnswer(page, "word-20 ");
  await page.reload();
  await untilAnswer(page, "word-20 ");
  expect(await page.getByTestId("chat-stop").isVisible()).toBe(true);
  provider.open("rest");
  await atRest(page);
  await untilAnswer(page, "word-59");
  expect((await answerOf(page)).trim()).toBe(words.join("").trim());
  expect(await page.locator(".message").count()).toBe(2);
  // As it is stored.
  await page.reload();
  await untilAnswer(page, "word-59");
  expect((await answerOf(page)).trim()).toBe(words.join("").trim());
  expect(turnCalls()).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test("R-SVV-2 an answer whose connection is cut again and again comes whole, once", async () => {
  const gates = [15, 25, 35, 45].map((index) => ({ index, name: `gate-${index}` }));
  play(() => say({ deltas: words }, { gateBefore: gates }));
  const page = await openChat(proxy.origin);
  const cursors: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/sveda/runs/")) cursors.push(request.headers()["last-event-id"]);
  });
  await ask(page, "Count for me.");
  for (const { index, name } of gates) {
    await untilAnswer(page, `word-${index - 3} `);
    expect(proxy.cut()).toBeGreaterThan(0);
    provider.open(name);
  }
  await atRest(page);
  expect((await answerOf(page)).trim()).toBe(words.join("").trim());
  expect(turnCalls()).toHaveLength(1);
  expect(cursors.length).toBeGreaterThanOrEqual(gates.length);
  expect(cursors).not.toContain(undefined);
  // The browser itself reports cut connections; nothing else may be wrong.
  expect(complaints.filter((text) => !text.includes("net::ERR_"))).toEqual([]);
});

test("R-SVV-6 stop ends the run and the provider's work, and what was shown is kept", async () => {
  play(() => say({ deltas: words }, { gateBefore: { index: 20, name: "never" } }));
  const page = await openChat();
  await ask(page, "Count for me.");
  await untilAnswer(page, "word-15 ");
  await page.keyboard.press("Escape");
  await atRest(page);
  expect(await textOf(page, "chat-notice")).toContain("Stopped.");
  await turnCalls()[0]?.closed;
  const shown = await answerOf(page);
  expect(shown).toContain("word-15 ");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("chat-prompt");
  await photograph(page, "chat-stopped");
  await page.reload();
  await untilAnswer(page, "word-15 ");
  expect((await answerOf(page)).trim()).toBe(shown.trim());
  await until(page, "#chat-notice:not([hidden])");
  expect(await textOf(page, "chat-notice")).toContain("Stopped.");
  expect(complaints).toEqual([]);
});

test("R-SVV-6 a Stop that the network lost is asked for again, and ends the turn", async () => {
  play(() => say({ deltas: words }, { gateBefore: { index: 20, name: "never" } }));
  const page = await openChat(proxy.origin);
  await ask(page, "Count for me.");
  await untilAnswer(page, "word-15 ");
  await context.setOffline(true);
  expect(proxy.cut()).toBeGreaterThan(0);
  const unheard = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/cancel"));
  await page.keyboard.press("Escape");
  await unheard;
  await context.setOffline(false);
  await atRest(page);
  expect(await textOf(page, "chat-notice")).toContain("Stopped.");
  await turnCalls()[0]?.closed;
  complaints = [];
});

test("R-SVV-3 R-SVV-7 an answer that broke off says so after a reload too, and is tried again", async () => {
  play((_call, index) => {
    const half = openAiChat({ deltas: ["Half of it"], finishReason: null, done: false });
    return index === 0 ? streamScript(OPENAI_STREAM_TYPE, half, { end: "fin" }) : say({ deltas: ["All of it."] });
  });
  const page = await openChat();
  await ask(page, "Tell me.");
  await until(page, "#chat-notice:not([hidden])");
  await atRest(page);
  const told = await page.getByTestId("chat-notice").innerText();
  const seen = await page.locator("#messages").innerText();
  expect(seen).toContain("Broken off here");
  await page.reload();
  await untilAnswer(page, "Half of it");
  await until(page, "#chat-notice:not([hidden])");
  expect(await page.getByTestId("chat-notice").innerText()).toBe(told);
  expect(await page.locator("#messages").innerText()).toBe(seen);
  await photograph(page, "chat-broken-reloaded");
  await page.getByRole("button", { name: "Try again" }).click();
  await untilAnswer(page, "All of it.");
  await atRest(page);
  expect(await page.getByTestId("chat-notice").isVisible()).toBe(false);
  expect(await page.locator('.message[data-role="user"]').count()).toBe(1);
  const after = await page.locator("#messages").innerText();
  expect(after).toContain("Broken off here");
  await page.reload();
  await untilAnswer(page, "All of it.");
  expect(await page.locator("#messages").innerText()).toBe(after);
  expect(await page.getByTestId("chat-notice").isVisible()).toBe(false);
  expect(complaints).toEqual([]);
});

test("R-SVV-3 R-SVV-7 a failure is explained and tried again; a limit of steps is gone beyond", async () => {
  provider.on(LOOK, tells({ found: "a lamp" }));
  play((_call, index) => {
    if (index === 0) return answerScript(openAiError(429, "rate_limit_error", "rate_limit_exceeded"));
    if (index < 3) return say({ toolCalls: [call("look_up", {}, `call_${index}`)] });
    return say({ deltas: ["There is a lamp."] });
  });
  const page = await openChat();
  await ask(page, "What is there?");
  await until(page, "#chat-notice:not([hidden])");
  await atRest(page);
  expect(await textOf(page, "chat-notice")).toMatch(/rate limited|too many requests/i);
  await photograph(page, "chat-failed");
  await page.reload();
  await until(page, "#chat-notice:not([hidden])");
  expect(await textOf(page, "chat-notice")).toMatch(/rate limited|too many requests/i);
  await page.getByRole("button", { name: "Try again" }).click();
  await until(page, '#chat-notice[data-kind="quiet"]:not([hidden])');
  await atRest(page);
  expect(await textOf(page, "chat-notice")).toContain("The model took 2 steps");
  expect(provider.calls(LOOK)).toHaveLength(2);
  expect(await page.locator('.message[data-role="user"]').count()).toBe(1);
  await photograph(page, "chat-max-steps");
  await page.reload();
  await until(page, '#chat-notice[data-kind="quiet"]:not([hidden])');
  expect(await textOf(page, "chat-notice")).toContain("The model took 2 steps");
  await page.getByRole("button", { name: "Continue" }).click();
  await untilAnswer(page, "There is a lamp.");
  await atRest(page);
  expect(await page.getByTestId("chat-notice").isVisible()).toBe(false);
  expect(complaints).toEqual([]);
});

test("R-SVV-9 chats are kept, opened, renamed and deleted, by keyboard too", async () => {
  play((_call, index) => say({ deltas: [`Answer ${index}.`] }), "");
  const page = await openChat();
  const rows = page.getByTestId("chat-list").locator("li");
  for (const [at, question] of ["First question", "Second question"].entries()) {
    await ask(page, question);
    await untilAnswer(page, `Answer ${at}.`);
    await atRest(page);
    await page.waitForFunction((count) => document.querySelectorAll("#chat-list li").length === count, at + 1);
    await page.getByTestId("new-chat").click();
  }
  expect(await rows.locator(".chat-name").allTextContents()).toEqual(["Second question", "First question"]);
  await page.getByRole("link", { name: /First question/ }).click();
  await untilAnswer(page, "Answer 0.");

  await page.getByRole("button", { name: "Rename First question" }).focus();
  await page.keyboard.press("Enter");
  await page.getByTestId("rename-field").fill("Lamps <i>");
  await photograph(page, "chat-rename");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#chat-title")?.textContent === "Lamps <i>");
  await page.waitForFunction(() => document.querySelector("#chat-list")?.textContent?.includes("Lamps <i>") === true);
  expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe("Rename Lamps <i>");

  await page.getByRole("button", { name: "Delete Second question" }).click();
  await page.keyboard.press("Escape");
  expect(await rows.count()).toBe(2);
  await page.getByRole("button", { name: "Delete Lamps <i>" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("#chat-list li").length === 1);
  expect(await page.locator(".message").count()).toBe(0);
  expect(new URL(page.url()).hash).toBe("#chat");

  await page.setViewportSize({ width: 390, height: 844 });
  expect(await rows.first().isVisible()).toBe(false);
  await page.getByRole("button", { name: "All chats" }).click();
  await photograph(page, "chat-list");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("link", { name: /Second question/ }).click();
  await untilAnswer(page, "Answer 1.");
  expect(await rows.first().isVisible()).toBe(false);
  expect(complaints).toEqual([]);
});

test("R-SVV-8 where keys are asked for, the page says so, and one key is enough", async () => {
  const keyed = await startHoldfast({
    config: configOf(),
    vars: {
      API_KEYS: JSON.stringify({ [createHash("sha256").update(KEY).digest("hex")]: "chat-tests" }),
      TICKET_SECRET: "only-for-these-tests",
    },
  });
  try {
    play(() => say({ deltas: ["Welcome."] }));
    const page = listen(await context.newPage(), complaints);
    await page.goto(`${keyed.origin}/#chat`);
    await until(page, "#chat-notice:not([hidden])");
    expect(await textOf(page, "chat-notice")).toContain("The server asks for a key");
    const asked: string[] = [];
    page.on("request", (request) => {
      if (JSON.stringify(request.headers()).includes(KEY)) asked.push(new URL(request.url()).pathname);
    });
    await page.locator("#chat-key").fill(`${KEY}-mistyped`);
    await page.keyboard.press("Tab");
    await page.waitForFunction(() => document.querySelector("#chat-notice")?.textContent?.includes("does not know"));
    await photograph(page, "chat-key");
    await page.locator("#chat-key").fill(KEY);
    await page.keyboard.press("Tab");
    await until(page, "#chat-suggestions button");
    await ask(page, "Hello");
    await untilAnswer(page, "Welcome.");
    await atRest(page);
    await page.reload();
    await untilAnswer(page, "Welcome.");
    expect(new Set(asked.filter((path) => path.startsWith("/sveda/")))).toEqual(new Set(["/sveda/embed/token"]));
    expect(complaints.filter((text) => !/status of 401/.test(text))).toEqual([]);
  } finally {
    await keyed.stop();
  }
});

test("R-SVV-9 the chat fills the window, whatever its width, and the keyboard follows what goes away", async () => {
  play(() => say({ toolCalls: [call("send_letter", { to: "Ada" })] }));
  const page = await openChat();
  await ask(page, "Write to Ada.");
  await cardIs(page, "send_letter", "waiting");
  await atRest(page);
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
    [320, 640],
  ] as const) {
    await page.setViewportSize({ width, height });
    const { scrollWidth, scrollHeight } = await page.evaluate(() => {
      const { scrollWidth: across, scrollHeight: down } = document.documentElement;
      return { scrollWidth: across, scrollHeight: down };
    });
    expect([scrollWidth, scrollHeight], `at ${width} px`).toEqual([width, height]);
    const lines = await page.evaluate(() =>
      ["#chats-title", "#chats-toggle", "#new-chat"].map((name) => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector(name) ?? document.body);
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
      }),
    );
    expect(
      lines.every((count) => count <= 1),
      `lines at ${width} px`,
    ).toBe(true);
    await page.screenshot({ path: `dist/screenshots/chat-window-${width}.png` });
  }
  await page.getByTestId("new-chat").click();
  await page.getByRole("button", { name: "All chats" }).click();
  await page.getByRole("link", { name: /A fine title/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "talk-scroll");
  expect(complaints).toEqual([]);
});
