// The ask view of the console in Chromium, as its users click it: a scripted provider, the real product between it and the page.
// Screenshots are kept in dist/screenshots for people to look at.
import { randomUUID } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launchChromium } from "../support/chromium.ts";
import { listen, photograph, textOf, until } from "../support/console-page.ts";
import { startCuttingProxy, type CuttingProxy } from "../support/cutting-proxy.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { startFaultProvider, type FaultProvider } from "../support/fault-provider/server.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";
import { openAiChat, OPENAI_STREAM_TYPE } from "../support/provider-bytes/openai-chat.ts";
import { streamScript, type StreamOptions } from "../support/provider-bytes/scripts.ts";

const MODEL = "/main/chat/completions";
const QUESTION = "What is the cursor of a reader?";
const page = `# Runs

## Cursors

The cursor of a reader is <b>the last sequence</b> that it has seen.
`;

let provider: FaultProvider;
let server: Holdfast;
let proxy: CuttingProxy;
let browser: Browser;
let context: BrowserContext;
let complaints: string[] = [];

beforeAll(async () => {
  provider = await startFaultProvider();
  server = await startHoldfast({
    config: {
      targets: [
        { id: "main", adapter: "openai-chat", baseUrl: `${provider.origin}/main`, model: "test-model", retries: 0 },
      ],
      routes: { default: ["main"] },
      breaker: { failures: 0 },
      limits: { heartbeatMs: 300 },
    },
  });
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

const say = (deltas: string[], stream: StreamOptions = {}): Script =>
  streamScript(
    OPENAI_STREAM_TYPE,
    openAiChat({ deltas, usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } }),
    stream,
  );

/** A collection of its own with the page in it. */
async function newCollection(): Promise<string> {
  const name = `c-${randomUUID()}`;
  await put(name, page);
  return name;
}
async function put(collection: string, text: string): Promise<void> {
  const response = await fetch(`${server.origin}/kebab/collections/${collection}/documents/notes/a.md`, {
    method: "PUT",
    headers: { "content-type": "text/markdown" },
    body: text,
  });
  expect(response.ok).toBe(true);
}
async function open(collection: string, origin = server.origin): Promise<Page> {
  const opened = listen(await context.newPage(), complaints);
  await opened.goto(`${origin}/#ask=&collection=${collection}`);
  return opened;
}
async function ask(view: Page, question: string): Promise<void> {
  await view.getByTestId("ask-question").fill(question);
  await view.keyboard.press("Enter");
}
const ends = (view: Page, ending: string): Promise<void> =>
  until(view, `#ask-result[data-phase="idle"][data-ending="${ending}"]`);
const shows = async (view: Page, part: string): Promise<void> => {
  const has = (wanted: string): boolean =>
    document.querySelector("#ask-answer")?.textContent?.includes(wanted) === true;
  await view.waitForFunction(has, part, { polling: 50 });
};
const refusals = (status: number): RegExp => new RegExp(`status of ${status}`);

test("R-KB-80 R-KB-81 files are dropped and chosen, refused by name, listed and removed", async () => {
  const view = await open(`c-${randomUUID()}`);
  await until(view, "#ask-list-empty:not([hidden])");
  const dropped = await view.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "a.md"));
    data.items.add(new File([new Uint8Array([0, 255, 1])], "blob.txt"));
    data.items.add(new File([new Uint8Array(9 * 1024 * 1024)], "d.md"));
    return data;
  }, page);
  await view.dispatchEvent("#ask-result", "drop", { dataTransfer: dropped });
  await until(view, '#ask-uploads [data-state="done"] progress[value="1"]');
  await until(view, '#ask-uploads li:last-child[data-state="refused"]');
  const uploads = await view.getByTestId("ask-uploads").innerText();
  expect(uploads).toMatch(/a\.md\s+Added: 2 passages\.\s+blob\.txt\s+No text[^]*d\.md\s+Too large/);

  const chooser = view.waitForEvent("filechooser");
  await view.getByTestId("ask-choose").focus();
  await view.keyboard.press("Enter");
  const text = { name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("A text.") };
  const paper = { name: "c.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7") };
  await (await chooser).setFiles([text, paper]);
  await until(view, '#ask-uploads li:nth-child(2):last-child[data-state="refused"]');
  expect(await view.getByTestId("ask-uploads").innerText()).toMatch(
    /b\.txt\s+Added: 1 passage\.\s+c\.pdf\s+Wrong type/,
  );
  await view.waitForFunction(() => document.querySelectorAll("#ask-list li").length === 2);
  expect(await textOf(view, "ask-count")).toBe("2 documents");

  await view.getByRole("button", { name: "Remove b.txt" }).focus();
  await view.keyboard.press("Enter");
  await view.keyboard.press("Escape");
  expect(await view.locator("#ask-list li").count()).toBe(2);
  await view.keyboard.press("Enter");
  await view.getByRole("button", { name: "Remove", exact: true }).click();
  await view.waitForFunction(() => document.querySelectorAll("#ask-list li").length === 1);
  expect(await view.getByTestId("ask-list").innerText()).toContain("a.md");
  await view.waitForFunction(() => document.activeElement?.id === "ask-choose");
  // What was refused, and a collection that was not there.
  expect(complaints.filter((text) => ![400, 404, 415].some((status) => refusals(status).test(text)))).toEqual([]);
});

test("R-KB-80 R-KB-81 of many files the refused one is in sight and counted, a name turns no words, and leaving is asked about", async () => {
  const view = await open(`c-${randomUUID()}`);
  const isHeld = (): Promise<boolean> =>
    view.evaluate(() => !window.dispatchEvent(new Event("beforeunload", { cancelable: true })));
  const release = Promise.withResolvers<void>();
  await view.route("**/documents/9.md", async (route) => {
    await release.promise;
    await route.continue();
  });
  expect(await isHeld()).toBe(false);
  const dropped = await view.evaluateHandle(() => {
    const data = new DataTransfer();
    for (let at = 0; at < 20; at++) data.items.add(new File([at === 14 ? "" : "# A"], `${at}.md`));
    data.items.add(new File(["# A"], "\u202egnp.exe.md"));
    return data;
  });
  await view.dispatchEvent("#ask-result", "drop", { dataTransfer: dropped });
  await until(view, "#ask-uploads li:nth-child(9)[data-state=done]");
  expect(await view.locator("#ask-uploads-title").innerText()).toBe("Being added: 9 of 21");
  expect(await isHeld()).toBe(true);
  release.resolve();
  await until(view, "#ask-uploads-clear:not([hidden])");
  expect(await view.locator("#ask-uploads-title").innerText()).toBe("20 added, 1 refused");
  expect(await isHeld()).toBe(false);
  const refused = view.locator('#ask-uploads [data-state="refused"]');
  const [list, item] = [await view.getByTestId("ask-uploads").boundingBox(), await refused.boundingBox()];
  expect((item?.y ?? 0) + 1).toBeGreaterThanOrEqual(list?.y ?? Infinity);
  expect((item?.y ?? 0) + (item?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0) + 1);

  await view.locator("#ask-list button").last().click();
  // Where the page's own words stand tells whether the name has turned them.
  const places = await view.locator("#remove-words").evaluate((words) => {
    const text = words.firstChild;
    const placeOf = (part: string): number => {
      const range = document.createRange();
      const at = words.textContent?.indexOf(part) ?? -1;
      if (text === null) return -1;
      range.setStart(text, at);
      range.setEnd(text, at + part.length);
      return range.getBoundingClientRect().left;
    };
    return ["gone", "from"].map(placeOf);
  });
  expect(places[0]).toBeLessThan(places[1] ?? 0);
});

test("R-KB-82 R-KB-83 an answer streams in, and its marker opens the lines that it cites", async () => {
  const deltas = ["It is <i>the last</i> ", "sequence [#", "1]", ", as https://a.example says [#4]."];
  provider.on(MODEL, say(deltas, { gateBefore: { index: 4, name: "rest" } }));
  const collection = await newCollection();
  const view = await open(collection);
  await ask(view, QUESTION);
  await shows(view, "sequence 1");
  expect(await textOf(view, "ask-status")).toBe("Answering…");
  await view.getByRole("button", { name: "Source 1: notes/a.md, lines 3–5" }).click();
  await until(view, ".lines .numbered");
  expect(await view.locator(".lines").first().innerText()).toMatch(
    /3\s+## Cursors\s+4\s+5\s+The cursor of a reader is <b>the last sequence<\/b>/,
  );
  const source = view.locator("#ask-source-1");
  expect(await source.innerText()).toMatch(/notes\/a\.md[^]*Runs › Cursors/);
  expect(await view.evaluate(() => document.activeElement?.id)).toBe("ask-source-1");
  provider.open("rest");
  await ends(view, "llm_self_judge");
  expect(await view.getByTestId("ask-answer").innerText()).toBe(
    "It is <i>the last</i> sequence 1, as https://a.example says [#4].",
  );
  expect(await textOf(view, "ask-notice")).toContain("cites [4], which it was not given");
  expect(await view.locator("#ask-view .prose :is(b, i), .lines b").count()).toBe(0);
  // The keyboard goes back to the marker.
  await view.getByRole("button", { name: "Hide lines 3–5" }).click();
  expect(await view.evaluate(() => document.activeElement?.className)).toBe("marker");

  provider.on(MODEL, say(["The last sequence [#1]."]));
  await ask(view, QUESTION);
  await ends(view, "grounded");
  expect(await textOf(view, "ask-status")).toBe("Answered from 1 passage.");
  expect(await source.locator(".badge").innerText()).toBe("cited");
  await put(collection, `${page}\nMore.\n`);
  await view.locator(".marker").click();
  await until(view, ".lines .lines-words");
  expect(await view.locator(".lines").first().innerText()).toContain("has changed since");
  await photograph(view, "ask-answer");
  expect(complaints).toEqual([]);
});

test("R-KB-84 what is not answered is explained", async () => {
  const view = await open(await newCollection());
  await ask(view, "zebra");
  await ends(view, "no_chunks");
  expect(await textOf(view, "ask-notice")).toContain("Nothing was found");
  await ask(view, "Where do many zebras hide their cursor during long winters abroad?");
  await ends(view, "score_gate");
  expect(await textOf(view, "ask-notice")).toContain("Nothing fits well enough");
  expect(await textOf(view, "ask-answer")).not.toContain("#L");
  expect(await view.locator("#ask-source-1 .badge").innerText()).toBe("near");
  expect(provider.calls(MODEL)).toHaveLength(0);
  await photograph(view, "ask-refused");
  provider.on(MODEL, say(["The sources do not say."]));
  await ask(view, QUESTION);
  await ends(view, "llm_self_judge");
  expect(await textOf(view, "ask-notice")).toContain("cites none of them");
  provider.on(MODEL, [{ step: "rst" }]);
  await ask(view, QUESTION);
  await ends(view, "failed");
  expect(await textOf(view, "ask-notice")).toContain("The model cannot be reached");
  await view.locator("#ask-options summary").click();
  await view.locator("#ask-k").fill("500");
  await ask(view, QUESTION);
  await view.waitForFunction(() => document.querySelector("#ask-notice")?.textContent?.includes("from 1 to 100"));
  expect(complaints.filter((text) => !refusals(400).test(text))).toEqual([]);
});

test("R-KB-86 Stop ends the answer at the provider, and keeps what came", async () => {
  provider.on(MODEL, say(["So far. ", "Never."], { gateBefore: { index: 2, name: "never" } }));
  const view = await open(await newCollection());
  await view.getByTestId("ask-question").fill(QUESTION);
  await view.getByTestId("ask-send").focus();
  await view.keyboard.press("Enter");
  await shows(view, "So far.");
  // The button cannot be used now, and the keyboard is not lost with it.
  expect(await view.evaluate(() => document.activeElement?.id)).toBe("ask-question");
  await view.keyboard.press("Escape");
  await ends(view, "llm_stream_aborted");
  expect(await textOf(view, "ask-answer")).toBe("So far. ");
  expect(await textOf(view, "ask-notice")).toContain("Stopped");
  expect(await provider.calls(MODEL)[0]?.answered).toBe("cut");
  expect(await view.evaluate(() => document.activeElement?.id)).toBe("ask-question");
  expect(complaints).toEqual([]);
});

test("R-KB-86 a Stop that the network lost is asked for again, and ends the answer", async () => {
  provider.on(MODEL, say(["So far. ", "Never."], { gateBefore: { index: 2, name: "never" } }));
  const view = await open(await newCollection(), proxy.origin);
  await ask(view, QUESTION);
  await shows(view, "So far.");
  await context.setOffline(true);
  expect(proxy.cut()).toBeGreaterThan(0);
  await until(view, '#ask-result[data-phase="lost"]');
  const unheard = view.waitForEvent("requestfailed", (request) => request.url().endsWith("/cancel"));
  await view.keyboard.press("Escape");
  await unheard;
  await view.waitForFunction(() => document.querySelector("#ask-status")?.textContent?.includes("as soon as") === true);
  await context.setOffline(false);
  await ends(view, "llm_stream_aborted");
  expect(await textOf(view, "ask-answer")).toBe("So far. ");
  expect(await provider.calls(MODEL)[0]?.answered).toBe("cut");
});

test("R-KB-85 R-KB-87 a lost connection and a reload lose nothing, and ask once", async () => {
  provider.on(
    MODEL,
    say(["One. ", "Two. ", "Three [#1]."], {
      gateBefore: [
        { index: 2, name: "two" },
        { index: 3, name: "three" },
      ],
    }),
  );
  const collection = await newCollection();
  const view = await open(collection, proxy.origin);
  await ask(view, QUESTION);
  await shows(view, "One.");
  expect(proxy.cut()).toBeGreaterThan(0);
  await until(view, '#ask-result[data-phase="lost"]');
  provider.open("two");
  await shows(view, "Two.");
  expect(await textOf(view, "ask-answer")).toBe("One. Two. ");
  await view.reload();
  await shows(view, "One. Two.");
  expect(await textOf(view, "ask-asked")).toBe(QUESTION);
  provider.open("three");
  await ends(view, "grounded");
  expect(await textOf(view, "ask-answer")).toBe("One. Two. Three 1.");
  await view.reload();
  await ends(view, "grounded");
  await view.locator(".marker").click();
  await until(view, ".lines .numbered");
  expect(await textOf(view, "ask-answer")).toBe("One. Two. Three 1.");
  expect(new URL(view.url()).hash).toContain(`collection=${collection}`);
  expect(provider.calls(MODEL)).toHaveLength(1);
  expect(complaints.filter((text) => !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|ERR_NETWORK/.test(text))).toEqual([]);
});

test("R-KB-87 a question that was posted and not taken before the page went away is taken up", async () => {
  provider.on(MODEL, say(["The last sequence [#1]."]));
  const view = await open(await newCollection());
  await ask(view, "Which cursor does a reader have?");
  await ends(view, "grounded");
  await view.waitForFunction(() => location.hash.startsWith("#ask=run_"));
  // The server gets the question; the page never hears of it.
  await view.route("**/kebab/ask", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await ask(view, QUESTION);
  await until(view, '#ask-result[data-phase="lost"]');
  await view.unroute("**/kebab/ask");
  await view.reload();
  await ends(view, "grounded");
  expect(await textOf(view, "ask-asked")).toBe(QUESTION);
  expect(provider.calls(MODEL)).toHaveLength(2);
});

test("R-KB-87 a conversation goes on after a reload, until another collection is chosen", async () => {
  provider.on(MODEL, say(["The last sequence [#1]."]));
  const view = await open(await newCollection());
  await view.locator("#ask-options summary").click();
  await view.locator("#ask-talk").check();
  await ask(view, QUESTION);
  await ends(view, "grounded");
  await view.reload();
  await ends(view, "grounded");
  expect(await view.locator("#ask-talk").isChecked()).toBe(true);
  await ask(view, QUESTION);
  await view.waitForFunction(
    () => document.querySelector("#ask-facts")?.textContent?.includes("question 2 of") === true,
  );
  await view.locator("#ask-collection").fill(await newCollection());
  await view.locator("#ask-collection").press("Enter");
  await ask(view, QUESTION);
  await view.waitForFunction(
    () => document.querySelector("#ask-facts")?.textContent?.includes("question 1 of") === true,
  );
});

test("R-KB-87 a collection that was chosen beside an open answer stays chosen", async () => {
  provider.on(MODEL, say(["The last sequence [#1]."]));
  const view = await open(await newCollection());
  await ask(view, QUESTION);
  await ends(view, "grounded");
  await view.locator("#ask-collection").fill("another");
  await view.locator("#ask-collection").press("Enter");
  await view.locator("#nav-chat").click();
  await view.locator("#nav-ask").click();
  expect(await view.locator("#ask-collection").inputValue()).toBe("another");
  await view.reload();
  await ends(view, "grounded");
  expect(await view.locator("#ask-collection").inputValue()).toBe("another");
  // The answer's lines are those of the collection that was asked.
  await view.locator(".marker").click();
  await until(view, ".lines .numbered");
});

test("R-KB-88 a run that was opened without a key is read with it, and a key that cannot be sent is told", async () => {
  provider.on(MODEL, say(["The last sequence [#1]."]));
  const first = await open(await newCollection());
  await ask(first, QUESTION);
  await ends(first, "grounded");
  await first.waitForFunction(() => location.hash.startsWith("#ask=run_"));
  await context.route("**/kebab/**", async (route) => {
    const isKnown = route.request().headers()["authorization"] === "Bearer the-key";
    const body = { schema_version: "error.v1", code: "generic", message: "No.", details: { reason: "unauthorized" } };
    await (isKnown ? route.continue() : route.fulfill({ status: 401, json: body }));
  });
  const view = listen(await context.newPage(), []);
  await view.goto(first.url());
  await ends(view, "failed");
  await view.locator("#ask-key").fill("the-kéy—");
  await view.keyboard.press("Tab");
  expect(await view.locator("#ask-key").evaluate((field: HTMLInputElement) => field.validationMessage)).toContain(
    "key",
  );
  await view.locator("#ask-key").fill("the-key");
  await view.keyboard.press("Tab");
  await ends(view, "grounded");
  expect(await view.locator("#ask-key").evaluate((field: HTMLInputElement) => field.validationMessage)).toBe("");
});

test("R-KB-88 a key is asked for, and goes into the header alone", async () => {
  const keys: string[] = [];
  await context.route("**/kebab/**", async (route) => {
    const request = route.request();
    expect(request.url()).not.toContain("the-key");
    keys.push(request.headers()["authorization"] ?? "");
    const body = {
      schema_version: "error.v1",
      code: "generic",
      message: "A key is needed.",
      details: { reason: "unauthorized" },
    };
    if (keys.at(-1) === "Bearer the-key")
      await route.fulfill({ status: 404, json: { code: "not_indexed", details: {} } });
    else await route.fulfill({ status: 401, json: body });
  });
  const view = await open("keyed");
  await until(view, "#ask-list-problem:not([hidden])");
  expect(await textOf(view, "ask-list-problem")).toContain("asks for a key");
  await ask(view, QUESTION);
  await ends(view, "failed");
  expect(await textOf(view, "ask-notice")).toContain("The server asks for a key");
  await view.locator("#ask-key").fill("the-key");
  await view.keyboard.press("Tab");
  await until(view, "#ask-list-empty:not([hidden])");
  expect(keys.at(-1)).toBe("Bearer the-key");
  expect(await view.evaluate(() => document.activeElement !== document.body)).toBe(true);
});
