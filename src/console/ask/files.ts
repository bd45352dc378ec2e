// What a file is to the server: its content type by its name, and whether it is worth sending. Pure.

export type Checked =
  | { readonly send: true; readonly contentType: string }
  | { readonly send: false; readonly words: string };

/** Bytes of a document that a server keeps at most. */
const maxBytes = 8 * 1024 * 1024;

const byEnding: Readonly<Record<string, string>> = {
  md: "text/markdown",
  markdown: "text/markdown",
  txt: "text/plain",
  htm: "text/html",
  html: "text/html",
  xhtml: "text/html",
};

/** `type`: what the browser takes the file for; empty when it does not know. */
export const checkFile = (name: string, type: string, bytes: number): Checked => {
  if (bytes > maxBytes) return { send: false, words: "Too large: a document may have 8 MiB." };
  if (bytes === 0) return { send: false, words: "It is empty, or a folder: drop the files in it." };
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const known = byEnding[ending];
  if (known !== undefined) return { send: true, contentType: known };
  // Other text is read as it stands; what is no text the server refuses, with the reason.
  const isText = type === "" || /^text\/|[/+](json|xml|yaml|javascript)$/.test(type);
  return { send: true, contentType: isText ? "text/plain" : type };
};

export const sizeWords = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} bytes`;
  const [size, unit] = bytes < 1_048_576 ? [bytes / 1_024, "KB"] : [bytes / 1_048_576, "MB"];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
};
