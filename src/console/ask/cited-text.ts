// An answer's text with its citation markers. Pure; a marker in code, or of a source that is not there, stays text.
import { type Piece, piecesOf } from "../chat/rich-text.ts";

export type CitedPiece = Piece | { readonly kind: "marker"; readonly text: string; readonly number: number };

const marker = /\[#(\d{1,3})\]/g;

/** `sources`: how many there are. */
export const citedPiecesOf = (text: string, sources: number): readonly CitedPiece[] =>
  piecesOf(text).flatMap((piece) => (piece.kind === "text" ? marked(piece.text, sources) : piece));

/** The numbers of all markers, whether there is such a source or not. */
export const markersIn = (text: string): readonly number[] => [
  ...new Set(Array.from(text.matchAll(marker), ([, number]) => Number(number))),
];

const marked = (text: string, sources: number): CitedPiece[] => {
  const pieces: CitedPiece[] = [];
  let from = 0;
  for (const found of text.matchAll(marker)) {
    const number = Number(found[1]);
    if (number < 1 || number > sources) continue;
    if (found.index > from) pieces.push({ kind: "text", text: text.slice(from, found.index) });
    pieces.push({ kind: "marker", text: `[${number}]`, number });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
};
