// The words of the console for states and field names. Pure; unknown names are shown in plain letters, not hidden.
import { type Fields, textIn } from "./fields.ts";
import type { Replacement, RunView } from "./run-view.ts";

export const statusWords = (view: RunView): string => {
  if (view.status !== "running") return view.status;
  if (view.link === "refused") return view.integrity.last === null ? "unknown" : "last seen running";
  if (view.cancelAsked) return "cancelling…";
  return view.integrity.last === null ? "starting" : "running";
};

export const connectionWords = (view: RunView): string => {
  const last = view.integrity.last === null ? "no event yet" : `last sequence ${view.integrity.last}`;
  switch (view.link) {
    case "connecting":
      return "connecting…";
    case "open":
      return "live";
    case "reconnecting":
      return `reconnecting… (${last})`;
    case "dropped":
      return `dropped: ${last}`;
    case "ended":
      return "closed after the end";
    case "refused":
      return "refused";
  }
};

export const replacementWords = ({ kind, sequence }: Replacement): string => {
  switch (kind) {
    case "withdrawn":
      return `Earlier text was withdrawn at sequence ${sequence}.`;
    case "restated":
      return `The text was restated at sequence ${sequence}, after a recovery of the run.`;
    case "replaced":
      return `Earlier text was replaced at sequence ${sequence}.`;
  }
};

/** Milliseconds as a reader says them: `0.4 s`, `12.0 s`, `3 min 05 s`. */
export const durationWords = (milliseconds: number): string => {
  const seconds = Math.max(0, milliseconds) / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
};

/** A name as it stands among words of ours: it turns none of them, whichever way it is read and whatever marks are in it. */
export const isolated = (name: string): string =>
  /^[\x20-\x7e\p{Script=Latin}]*$/u.test(name)
    ? name
    : `\u2068${name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd")}\u2069`;

export const countWords = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

const labels: Readonly<Record<string, string>> = {
  targetId: "Target",
  fallbackOccurred: "Fell back",
  attemptedProviderIds: "Targets tried",
};

/** A field's name as a label: its own word, or `configuredModel` as `Configured model`. */
export const labelFrom = (name: string): string => {
  const own = labels[name];
  if (own !== undefined) return own;
  const spaced = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
};

/** A scalar, or a list of scalars, in words; undefined for objects, which belong to the raw JSON. */
export const valueWords = (value: unknown): string | undefined => {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "number") return value.toLocaleString("en");
  if (typeof value === "boolean") return value ? "yes" : "no";
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
  return isList ? value.join(" → ") : undefined;
};

/** A target of a route in words: `demo (openai-chat, NAME, cloud)`. */
export const targetWords = (target: Fields): string => {
  const traits = ["adapter", "model", "locality"].flatMap((name) => textIn(target, name) ?? []);
  return `${textIn(target, "id") ?? "?"}${traits.length === 0 ? "" : ` (${traits.join(", ")})`}`;
};

/** `retryInMs`: until the server is asked again; null while it is asked. */
export const lostWords = (retryInMs: number | null): string =>
  `Connection lost. Trying again${retryInMs === null ? "" : ` in ${Math.ceil(retryInMs / 1_000)} s`}…`;

export const stoppingWords = (retryInMs: number | null): string =>
  retryInMs === null ? "Stopping…" : "Connection lost. The answer is stopped as soon as the server is reached…";

/** `14:05` today, else the date. Empty for no time. */
export const timeWords = (at: string, now: Date): string => {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  const today = date.toDateString() === now.toDateString();
  return today
    ? date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
};
