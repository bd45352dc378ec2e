// What the console makes of an answer's text: links, code between fences, and plain text for all the rest.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Piece, piecesOf } from "../../src/console/chat/rich-text.ts";

const text = (words: string): Piece => ({ kind: "text", text: words });
const link = (url: string): Piece => ({ kind: "link", text: url });
const code = (lines: string): Piece => ({ kind: "code", text: lines });

it.each<[string, readonly Piece[]]>([
  ["", []],
  ["Plain *text*, <b>as</b> it is.\n\nAll of it.", [text("Plain *text*, <b>as</b> it is.\n\nAll of it.")]],
  ["See https://a.example/x?y=1#z.", [text("See "), link("https://a.example/x?y=1#z"), text(".")]],
  ["(http://a.example/b_(c)).", [text("("), link("http://a.example/b_(c)"), text(").")]],
  [
    "[A](https://a.example), **https://b.example**",
    [text("[A]("), link("https://a.example"), text("), **"), link("https://b.example"), text("**")],
  ],
  ["<https://a.example/>", [text("<"), link("https://a.example/"), text(">")]],
  ["https://a.example。Und", [link("https://a.example"), text("。Und")]],
  ["https://a.example/\u202egpj.exe", [link("https://a.example/"), text("\u202egpj.exe")]],
  [
    "javascript:alert(1) data:text/html,x /etc xhttps://a.example https://",
    [text("javascript:alert(1) data:text/html,x /etc xhttps://a.example https://")],
  ],
  ["Here:\n\n```js\nlet a = 1;\n\n  b();\n```\n\nThat.", [text("Here:"), code("let a = 1;\n\n  b();"), text("That.")]],
  ["```\nhttps://a.example <b>\n```", [code("https://a.example <b>")]],
  ["~~~\n```\n~~~~\nend", [code("```"), text("end")]],
  ["````md\n```js\n1\n```\n````", [code("```js\n1\n```")]],
  ["- so:\n   ```py\n   if x:\n     y\n  z\n   ```\n- more", [text("- so:"), code("if x:\n  y\nz"), text("- more")]],
  ["A\n```\nstill being writ", [text("A"), code("still being writ")]],
  ["```js", [code("")]],
  ["```one``` line", [text("```one``` line")]],
  ["```\na\n```\n```\nb\n```", [code("a"), code("b")]],
])("R-SVV-10 %j", (answer, pieces) => {
  expect(piecesOf(answer)).toEqual(pieces);
});

/** The lines that are no fences, without white space. */
const bare = (said: string): string =>
  said
    .split("\n")
    .filter((line) => !/```|~~~/.test(line))
    .join("")
    .replaceAll(/\s/g, "");

it("R-SVV-10 no text is lost but fences and the white space beside them, and every link is one to the web", () => {
  const words = fc.constantFrom(
    "a ",
    "```",
    "```js",
    "~~~",
    "\n",
    "  ",
    "`",
    "https://a.example/(b",
    ")",
    ".",
    "<i>",
    "javascript:x ",
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
      const answer = parts.join("");
      const pieces = piecesOf(answer);
      for (const { kind, text: shown } of pieces) {
        if (kind === "link") expect(new URL(shown).protocol).toBe("https:");
        else expect(kind === "code" || shown !== "").toBe(true);
      }
      const said = pieces.map((piece) => (piece.kind === "code" ? `\n${piece.text}\n` : piece.text)).join("");
      expect(bare(said)).toBe(bare(answer));
    }),
  );
});
