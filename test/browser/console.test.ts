// The console at `/` in Chromium, as its users click it, on the shipped configuration: no key, no provider, the embedded demo
// target only. Screenshots are kept in dist/screenshots for people to look at.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventsOf, shownText } from "../support/api.ts";
import { launchChromium } from "../support/chromium.ts";
import { listen, photograph, textOf, until } from "../support/console-page.ts";
import { startHoldfast, type Holdfast } from "../support/holdfast-server.ts";

let server: Holdfast;
let browser: Browser;
let context: BrowserContext;
/** Page errors, console errors (the browser reports CSP violations there) and failed resources. */
let complaints: string[] = [];

beforeAll(async () => {
  server = await startHoldfast();
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});
beforeEach(async () => {
  complaints = [];
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
});
afterEach(async () => {
  await context.close();
});

async function openConsole(): Promise<Page> {
  const page = listen(await context.newPage(), complaints);
  await page.goto(`${server.origin}/`);
  return page;
}

async function untilSequence(page: Page, atLeast: number): Promise<void> {
  const reached = (least: number): boolean => Number(document.querySelector("#sequence")?.textContent) >= least;
  await page.waitForFunction(reached, atLeast, { polling: 100 });
}

async function startRun(page: Page, route: string): Promise<string> {
  await page.waitForFunction(
    (name) => [...document.querySelectorAll("#route option")].some((option) => option.textContent === name),
    route,
    { polling: 100 },
  );
  await page.getByTestId("route").selectOption(route);
  await page.getByTestId("prompt").fill("Why does a lighthouse keeper write everything down?");
  await page.getByTestId("start").click();
  await until(page, '#run[data-status="running"], #outcome[data-outcome="completed"]');
  await page.waitForFunction(() => location.hash.startsWith("#run="), undefined, { polling: 100 });
  return decodeURIComponent(new URL(page.url()).hash.slice("#run=".length));
}

/** What the server says that a reader of this run shows. */
async function servedText(runId: string): Promise<string> {
  return shownText(eventsOf(await (await fetch(`${server.origin}/v1/runs/${runId}/events`)).text()));
}

async function expectGapless(page: Page): Promise<void> {
  await until(page, '#integrity[data-state="ok"]');
  expect(await textOf(page, "integrity")).toMatch(/gapless 0\.\.\d+, no repeats/);
  expect(await textOf(page, "integrity")).toContain("The text shown equals the outcome’s text.");
}

/** Pixels between what the events list shows last and its end. */
const belowEvents = (page: Page): Promise<number> =>
  page.getByTestId("events").evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);

test("R-CONF-2 a run that falls back is shown with its text, sequence, attempts, outcome, provenance and usage", async () => {
  const page = await openConsole();
  await photograph(page, "console-empty");
  const runId = await startRun(page, "demo-fallback");
  await untilSequence(page, 20);
  await photograph(page, "console-running");
  // A scroll that is told of only after the list has become smaller is not its reader's leaving.
  await page.getByTestId("events").evaluate((list) => {
    list.scrollTop -= 1;
    list.style.height = "6rem";
  });
  await until(page, '#outcome[data-outcome="completed"]');
  await expectGapless(page);
  expect(await textOf(page, "answer")).toBe(await servedText(runId));
  expect(await textOf(page, "answer")).toMatch(/^This is the embedded demo target\..* ✓$/);
  expect(await textOf(page, "status")).toBe("completed");
  const rows = await page.getByTestId("attempts").locator("tbody tr").allTextContents();
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/demo-busy.*RateLimited.*rate_limited.*HTTP 429/);
  expect(rows[1]).toMatch(/^1demo(?!-busy)/);
  expect(await textOf(page, "provenance")).toMatch(/demo-busy → demo/);
  expect(await textOf(page, "provenance")).toMatch(/Fell back\s*yes/);
  expect(await textOf(page, "usage")).toMatch(/Output tokens\s*\d+/i);
  const state: { lastSequence: number } = await (await fetch(`${server.origin}/v1/runs/${runId}`)).json();
  expect(await textOf(page, "sequence")).toBe(String(state.lastSequence));
  expect(await page.getByTestId("events").locator("li").count()).toBe(state.lastSequence + 1);
  expect(await page.getByTestId("problem").isVisible()).toBe(false);
  // The list followed the run to its end, although the window had been narrow in between.
  expect(await belowEvents(page)).toBeLessThan(32);
  await photograph(page, "console-completed");
  expect(complaints).toEqual([]);
});

test("R-READ-2 R-READ-11 a dropped connection is resumed without a gap", async () => {
  const page = await openConsole();
  const runId = await startRun(page, "default");
  // Enough rows for the list to scroll.
  await untilSequence(page, 30);
  await page.getByTestId("drop").click();
  await until(page, '#run[data-link="dropped"]');
  // Who reads further up is left there.
  await page.getByTestId("events").evaluate((list) => (list.scrollTop = 0));
  const dropped = Number(await textOf(page, "sequence"));
  // The run goes on without its reader.
  const ended = await fetch(`${server.origin}/v1/runs/${runId}/outcome?wait=20`);
  expect(await ended.json()).toMatchObject({ outcome: "completed" });
  expect(Number(await textOf(page, "sequence"))).toBe(dropped);
  expect(await textOf(page, "connection")).toBe(`dropped: last sequence ${dropped}`);
  await page.getByTestId("resume").click();
  await until(page, '#outcome[data-outcome="completed"]');
  await expectGapless(page);
  expect(await textOf(page, "integrity")).toMatch(/1 drop · 1 resume/);
  expect(await page.getByTestId("events").evaluate((list) => list.scrollTop)).toBe(0);
  expect(await page.locator("#spans li").allTextContents()).toEqual([
    `0..${dropped}`,
    expect.stringMatching(`^${dropped + 1}\\.\\.`),
  ]);
  expect(await textOf(page, "answer")).toBe(await servedText(runId));
  expect(complaints).toEqual([]);
});

test.each(["demo-silent", "demo-slow"])("R-CANCEL-1 R-CANCEL-2 cancel on %s ends the run at once", async (route) => {
  const page = await openConsole();
  const runId = await startRun(page, route);
  await untilSequence(page, route === "demo-slow" ? 4 : 1);
  await page.getByTestId("cancel").click();
  await until(page, '#outcome[data-outcome="cancelled"]');
  await until(page, '#run[data-status="cancelled"]');
  expect(await textOf(page, "outcome")).toContain("cancelled in the console");
  await until(page, '#integrity[data-state="ok"]');
  expect(await textOf(page, "answer")).toBe(await servedText(runId));
  expect(await page.getByTestId("cancel").isDisabled()).toBe(true);
  if (route === "demo-slow") await photograph(page, "console-cancelled");
  expect(complaints).toEqual([]);
});

test("R-CANCEL-1 a cancel that the network lost is asked for again", async () => {
  const page = await openConsole();
  await startRun(page, "demo-silent");
  await untilSequence(page, 1);
  await context.setOffline(true);
  const unheard = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/cancel"));
  await page.getByTestId("cancel").click();
  await unheard;
  await context.setOffline(false);
  await until(page, '#outcome[data-outcome="cancelled"]');
  await until(page, '#run[data-status="cancelled"]');
  complaints = [];
});

test("R-FALL-5 a cut after content is an error that keeps the text", async () => {
  const page = await openConsole();
  const runId = await startRun(page, "demo-cut");
  await until(page, '#outcome[data-outcome="error"]');
  await expectGapless(page);
  expect(await textOf(page, "attempts")).toMatch(/truncated/);
  expect(await textOf(page, "usage")).toMatch(/Estimated\s*in part/);
  expect(await textOf(page, "answer")).toBe(await servedText(runId));
  expect(await textOf(page, "answer")).not.toBe("");
  await photograph(page, "console-error");
  expect(complaints).toEqual([]);
});

test("R-READ-10 R-LOG-5 the same run in a second tab and after a reload shows the same", async () => {
  const page = await openConsole();
  const runId = await startRun(page, "default");
  await untilSequence(page, 10);
  const opening = context.waitForEvent("page");
  await page.getByTestId("second-tab").click();
  const second = listen(await opening, complaints);
  await untilSequence(second, 10);
  await page.reload();
  for (const tab of [page, second]) {
    await until(tab, '#outcome[data-outcome="completed"]');
    await expectGapless(tab);
    expect(await textOf(tab, "answer")).toBe(await servedText(runId));
  }
  await second.reload();
  await until(second, '#outcome[data-outcome="completed"]');
  await expectGapless(second);
  expect(await textOf(second, "answer")).toBe(await textOf(page, "answer"));
  expect(complaints).toEqual([]);
});

test("R-LIFE-1 R-LIFE-2 the console comes back by itself when the server was killed, and tells of the interruption", async () => {
  const page = await openConsole();
  const runId = await startRun(page, "demo-slow");
  await untilSequence(page, 5);
  await server.kill();
  await until(page, '#run[data-link="reconnecting"]');
  await photograph(page, "console-reconnecting");
  await server.start();
  await until(page, '#outcome[data-outcome="error"]');
  await expectGapless(page);
  expect(await textOf(page, "outcome")).toContain("interrupted");
  expect(await textOf(page, "answer")).toBe(await servedText(runId));
  // The browser itself reports refused connections; nothing else may be wrong.
  expect(complaints.filter((text) => !text.includes("net::ERR_"))).toEqual([]);
});

test("R-READ-7 R-START-5 what the server refuses is said on the page", async () => {
  const page = await openConsole();
  await page.goto(`${server.origin}/#run=never-started`);
  await page.waitForFunction(() => document.querySelector("#problem:not([hidden])") !== null, undefined, {
    polling: 100,
  });
  expect(await textOf(page, "problem")).toContain("404");
  await photograph(page, "console-refused");
  expect(complaints.filter((text) => !/status of 404/.test(text))).toEqual([]);
});
