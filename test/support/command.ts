// The package's own command in a process of its own, as a shell starts it. Asserts nothing.
import { spawn } from "node:child_process";
import path from "node:path";

const command = path.resolve(import.meta.dirname, "../../bin/holdfast.mjs");

export interface Ran {
  status: number | null;
  out: string;
  err: string;
}

export interface Running {
  /** Ends this process's side of a stream: the command's next line there has no reader. */
  close(stream: "out" | "err"): void;
  signal(name: NodeJS.Signals): void;
  /** Resolves when stderr has this text; with what is there so far. */
  said(text: string): Promise<string>;
  ended: Promise<Ran>;
}

/** Nothing of this process's environment is handed on. */
export function startCommand(words: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [command, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  const watchers = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    for (const watch of watchers) watch();
  });
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, out, err }));
  });
  const seen = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const watch = (): void => {
        if (!err.includes(text)) return;
        watchers.delete(watch);
        resolve(err);
      };
      watchers.add(watch);
      watch();
    });
  const early = async (text: string): Promise<never> => {
    const ran = await ended;
    throw new Error(`ended without ${text}: ${JSON.stringify(ran)}`);
  };
  return {
    close: (stream) => (stream === "out" ? child.stdout : child.stderr).destroy(),
    signal: (name) => child.kill(name),
    said: async (text) => {
      const late = early(text);
      late.catch(() => undefined);
      return Promise.race([seen(text), late]);
    },
    ended,
  };
}

export const runCommand = (words: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
  startCommand(words, env).ended;
