// Draws the text of an answer with its links and its code, as elements and text, never as HTML. What is drawn already grows:
// a selection in it stays.
import { make } from "../elements.ts";
import { type Piece, piecesOf } from "./rich-text.ts";

/** A piece that is an element of its maker's; what shows it keeps standing as long as its name is the same. */
export type OwnPiece = { readonly kind: "own"; readonly name: string; readonly make: () => HTMLElement };

/** Makes the element show the text, whatever it showed before. It holds one node for each piece. */
export const drawText = (element: HTMLElement, text: string): void => drawPieces(element, piecesOf(text));

export const drawPieces = (element: HTMLElement, pieces: readonly (Piece | OwnPiece)[]): void => {
  const drawn = [...element.childNodes];
  for (const [at, piece] of pieces.entries()) {
    const node = drawn[at];
    if (node === undefined) element.append(nodeOf(piece));
    else if (!shows(node, piece)) node.replaceWith(nodeOf(piece));
  }
  for (const node of drawn.slice(pieces.length)) node.remove();
};

/** A link in a page of its own, which learns nothing of this one. */
export const webLink = (label: string, url: string): HTMLAnchorElement => {
  const link = make("a", label);
  link.href = url;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
};

const nodeOf = (piece: Piece | OwnPiece): Node => {
  if (piece.kind === "own") {
    const made = piece.make();
    made.dataset["piece"] = piece.name;
    return made;
  }
  const { kind, text } = piece;
  switch (kind) {
    case "text":
      return document.createTextNode(text);
    case "link":
      return webLink(text, text);
    case "code": {
      const code = make("pre", "", "code");
      code.append(document.createTextNode(text));
      // It scrolls, by keyboard too.
      code.tabIndex = 0;
      code.role = "group";
      code.ariaLabel = "Code";
      return code;
    }
  }
};

/** Whether a node of this kind was there; it then shows the piece. */
const shows = (node: ChildNode, piece: Piece | OwnPiece): boolean => {
  if (piece.kind === "own") return node instanceof HTMLElement && node.dataset["piece"] === piece.name;
  const { kind, text } = piece;
  switch (kind) {
    case "text":
      return node instanceof Text && write(node, text);
    case "link":
      if (!(node instanceof HTMLAnchorElement)) return false;
      if (node.textContent !== text) {
        node.href = text;
        node.textContent = text;
      }
      return true;
    case "code":
      return node instanceof HTMLPreElement && node.firstChild instanceof Text && write(node.firstChild, text);
  }
};

const write = (node: Text, text: string): true => {
  if (text === node.data) return true;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
  return true;
};
