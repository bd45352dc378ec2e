// Chromium for the browser tests: the system's own binary, driven by playwright-core. Never downloads one.
import { chromium, type Browser } from "playwright-core";

const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the Chromium that CHROMIUM_PATH names, or else /usr/bin/chromium. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env["CHROMIUM_PATH"] || "/usr/bin/chromium", args: ARGS });
}
