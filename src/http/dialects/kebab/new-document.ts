// From what a client hands in to a document that a collection can keep, or why it cannot. Keeps nothing.
import type { DocumentMedia, DocumentWords, NewDocument } from "../../../../schemas/collection.ts";
import { CHUNKER_VERSION, INDEX_VERSION, PARSER_VERSIONS } from "../../../kebab/versions.ts";
import { utf8Length } from "../../../run/utf8.ts";
import { canonicalJson } from "../../../run/canonical.ts";
import { sha256Hex } from "../../digest.ts";
import { invalidInput, kebabFound, kebabRefused, type KebabResult } from "./problem.ts";

const MAX_PATH_BYTES = 512;
const ID_DIGITS = 32;

const mediaOf: ReadonlyMap<string, DocumentMedia> = new Map([
  ["text/markdown", "markdown"],
  ["text/plain", "text"],
  ["text/html", "html"],
]);

/** Of a content type in UTF-8; `undefined` for any other. */
export function documentMedia(contentType: string): DocumentMedia | undefined {
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  return charset === undefined || /^charset="?(utf-8|us-ascii)"?$/.test(charset) ? mediaOf.get(type) : undefined;
}

/** By the ending of a path, where nothing says it. */
export function mediaByPath(path: string): DocumentMedia {
  if (/\.(md|markdown)$/i.test(path)) return "markdown";
  return /\.(html?|xhtml)$/i.test(path) ? "html" : "text";
}

/** What is wrong with a path, if anything is. */
export function pathFault(path: string): string | undefined {
  if (path === "" || utf8Length(path) > MAX_PATH_BYTES) return `must have 1 to ${MAX_PATH_BYTES} bytes`;
  if (path.includes("#")) return "must not hold #";
  if (path.includes("\\")) return "must not hold a backslash: / stands between names";
  if (!path.isWellFormed() || /\p{Cc}/u.test(path)) return "must be well-formed text without control characters";
  const named = path.split("/").every((name) => name !== "" && name !== "." && name !== "..");
  return named ? undefined : "must be a relative path with / between its names";
}

/** What makes text no text; `undefined` when it is. */
export const textFault = (source: string): string | undefined =>
  source.includes("\0") || source.startsWith("%PDF-") ? "is no text" : undefined;

interface Given {
  path: string;
  media: DocumentMedia;
  words: DocumentWords;
  source: string;
}

/** `field`: what the path is called where it came from. */
export async function newDocument(
  { path, media, words, source }: Given,
  field: string,
): Promise<KebabResult<NewDocument>> {
  const fault = pathFault(path);
  if (fault !== undefined) return kebabRefused(invalidInput(field, `The document's path ${fault}.`));
  const parser = PARSER_VERSIONS[media];
  const content = await sha256Hex(source);
  const docId = await sha256Hex(`${path}\n${content}\n${parser}`);
  const fingerprint = await sha256Hex(
    canonicalJson({ docId, media, words, chunker: CHUNKER_VERSION, index: INDEX_VERSION }),
  );
  const bytes = utf8Length(source);
  return kebabFound({ path, docId: docId.slice(0, ID_DIGITS), fingerprint, media, words, source, bytes });
}
