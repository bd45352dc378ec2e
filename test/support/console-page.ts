// A page of the console under test: what it complains of, what it shows, and how it looks at its widths.
import path from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** For people to look at; git ignores it. */
const screenshots = path.resolve(import.meta.dirname, "../../dist/screenshots");

/** Gathers everything that a page may complain about: page errors, console errors (the browser reports CSP violations there) and failed resources. */
export function listen(page: Page, complaints: string[]): Page {
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return page;
}

/** Waits by timer: a tab in the background draws no frames. */
export async function until(page: Page, selector: string): Promise<void> {
  await page.waitForFunction((wanted) => document.querySelector(wanted) !== null, selector, { polling: 100 });
}

export const textOf = async (page: Page, testId: string): Promise<string> =>
  (await page.getByTestId(testId).textContent()) ?? "";

/** On a desk, on a phone and on a small one; none may scroll to the side. */
export async function photograph(page: Page, name: string): Promise<void> {
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 900 });
    await page.screenshot({ path: path.join(screenshots, `${name}-${width}.png`), fullPage: true });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow, `horizontal scroll at ${width} px`).toBeLessThanOrEqual(0);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}
