// Runs one program in the foreground until it ends. Never ends before it, and never leaves it running alone.
import { spawn } from "node:child_process";
import os from "node:os";

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"];
const orphanCheckMs = 500;
const parent = process.ppid;

/** Starts the program with this process's streams, passes signals on, and resolves with the exit code to end with. */
export function runToEnd(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: "inherit" });
    const forward = (signal) => child.kill(signal);
    for (const signal of forwarded) process.on(signal, forward);
    const watch = watchParent(() => child.kill("SIGTERM"));
    const settle = (code) => {
      clearInterval(watch);
      for (const signal of forwarded) process.off(signal, forward);
      resolve(code);
    };
    child.once("error", (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      settle(1);
    });
    child.once("exit", (code, signal) => settle(code ?? 128 + os.constants.signals[signal]));
  });
}

/** npm passes SIGTERM to the shell between it and a script, and that shell ends without a word to the script. */
function watchParent(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  return setInterval(() => {
    if (process.ppid !== parent) onGone();
  }, orphanCheckMs);
}
