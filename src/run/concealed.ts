// What a server says, without what nobody may see of it: the secrets that it knows from us, and, where it tells of a failure, addresses.
// Never changes a text in which nothing is found.
import { isRecord } from "./json-values.ts";

export interface Hidden {
  /** In every spelling in which they are looked for, the longest first. */
  secrets: readonly string[];
  /** The server's own. */
  addresses: readonly string[];
}

const MARK = "***";
/** Characters: a shorter secret protects nothing, and would be found in any text. */
const MIN_SECRET = 4;
/** Characters of an error that are looked at; far fewer are shown. */
const MAX_ERROR = 4000;

/** What must not be seen of a server at `url` that knows `secret`. */
export function hiddenAt(url: string, secret: string | undefined): Hidden {
  const { origin, host, hostname } = new URL(url);
  // A name of one label may be any word.
  const addresses = [url, origin, host, hostname].filter((address) => /[.:]/.test(address));
  return { secrets: secret === undefined ? [] : spellings(secret), addresses };
}

/** As itself, in JSON, in a URL; a Standard Webhooks secret also without its prefix. */
function spellings(secret: string): string[] {
  const bare = [secret, secret.replace(/^whsec_/, "")];
  const all = bare.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    return [text, json, json.replaceAll("/", String.raw`\/`), encodeURIComponent(text.toWellFormed())];
  });
  return [...new Set(all)]
    .filter((text) => text.length >= MIN_SECRET)
    .toSorted((one, other) => other.length - one.length);
}

const concealedText = (text: string, { secrets }: Hidden): string =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, MARK), text);

/** A JSON value, its names too, without the secrets. */
export function concealed(value: unknown, hidden: Hidden): unknown {
  if (hidden.secrets.length === 0) return value;
  if (typeof value === "string") return concealedText(value, hidden);
  if (Array.isArray(value)) return value.map((item) => concealed(item, hidden));
  if (!isRecord(value) || JSON.isRawJSON(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [concealedText(key, hidden), concealed(inner, hidden)]);
  return Object.fromEntries(entries);
}

/** The beginning of a text without the secrets, also without one that only begins at its end. */
export function concealedStart(text: string, hidden: Hidden): string {
  const shown = concealedText(text, hidden);
  const begun = hidden.secrets.map((secret) => beginningAtEnd(shown, secret));
  return shown.slice(0, shown.length - Math.max(0, ...begun));
}

function beginningAtEnd(text: string, secret: string): number {
  for (let length = secret.length - 1; length >= MIN_SECRET; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}

/** URLs, numeric addresses, and hosts with a port. */
const ADDRESSES = [
  /\b[a-z][a-z\d+.-]{1,30}:\/\/[^\s"'<>()]+/gi,
  /\[[\da-f]*:[\da-f]*:[\da-f:.]*\](:\d+)?/gi,
  /\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g,
  /\b(localhost|[\w-]+(\.[\w-]+){1,9}):\d{2,5}\b/gi,
];

/** What went wrong, as the server words it, without secrets and addresses. */
export function concealedError(text: string, hidden: Hidden): string {
  const withoutSecrets = concealedText(text, hidden).slice(0, MAX_ERROR);
  const withoutUrls = ADDRESSES.reduce((shown, pattern) => shown.replaceAll(pattern, MARK), withoutSecrets);
  return hidden.addresses.reduce((shown, address) => shown.replaceAll(address, MARK), withoutUrls);
}
