// What of an answer's text is a link or code: addresses of the web, and lines between fences. Pure; nothing else is markup,
// and a text of any kind is read, whole or not.

export type Piece =
  | { readonly kind: "text"; readonly text: string }
  /** The text is the address. */
  | { readonly kind: "link"; readonly text: string }
  | { readonly kind: "code"; readonly text: string };

type Fence = { readonly indent: number; readonly mark: string };

/** The pieces of a text in its order. Fences are left out, and so are the line ends beside them. */
export const piecesOf = (text: string): readonly Piece[] => {
  const pieces: Piece[] = [];
  let fence: Fence | null = null;
  let lines: string[] = [];
  const flush = (): void => {
    const block = lines.join("\n");
    lines = [];
    if (fence !== null) pieces.push({ kind: "code", text: block });
    else pieces.push(...linked(beside(block, pieces.length > 0)));
  };
  for (const line of text.split("\n")) {
    if (fence === null) {
      const opened = fenceIn(line);
      if (opened === null) {
        lines.push(line);
        continue;
      }
      // What came before ends at the fence.
      const before = lines.join("\n").replace(/\n+$/, "");
      lines = before === "" ? [] : [before];
      if (lines.length > 0) flush();
      fence = opened;
      lines = [];
    } else if (closes(line, fence)) {
      flush();
      fence = null;
    } else {
      lines.push(withoutIndent(line, fence.indent));
    }
  }
  if (fence !== null || lines.length > 0) flush();
  return pieces;
};

/** After code a text begins with its first line that says something. */
const beside = (block: string, afterCode: boolean): string => (afterCode ? block.replace(/^\n+/, "") : block);

const fenceIn = (line: string): Fence | null => {
  const found = /^([ \t]*)(`{3,}[^`]*|~{3,}.*)$/.exec(line);
  if (found === null) return null;
  const [, indent = "", rest = ""] = found;
  return { indent: indent.length, mark: /^(`+|~+)/.exec(rest)?.[0] ?? rest };
};

const closes = (line: string, { mark }: Fence): boolean => {
  const said = line.trim();
  return said.length >= mark.length && said.startsWith(mark) && said.replaceAll(mark.charAt(0), "") === "";
};

const withoutIndent = (line: string, indent: number): string => {
  const blank = /^[ \t]*/.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(indent, blank));
};

/** An address ends where no address goes on: at space, quotes, brackets, and characters that are not to be seen. */
const address = /(?<![\p{L}\p{N}_])https?:\/\/[^\s<>"`|[\]{}\p{C}。、，；：！？）】》」』]+/giu;

const linked = (text: string): Piece[] => {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(address)) {
    const url = withoutPunctuation(found[0]);
    if (!isWebAddress(url)) continue;
    if (found.index > from) pieces.push({ kind: "text", text: text.slice(from, found.index) });
    pieces.push({ kind: "link", text: url });
    from = found.index + url.length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
};

/** A sentence's marks at the end of an address are the sentence's, and so is a bracket that it does not open. */
const withoutPunctuation = (found: string): string => {
  let url = found;
  for (;;) {
    const shorter = url.replace(/[.,;:!?*_~'’”…]+$/u, "");
    const opens = shorter.split("(").length;
    const unbalanced = shorter.endsWith(")") && shorter.split(")").length > opens;
    const next = unbalanced ? shorter.slice(0, -1) : shorter;
    if (next === url) return url;
    url = next;
  }
};

export const isWebAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:");
};
