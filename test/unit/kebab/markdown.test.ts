// Which lines of Markdown are headings and which are code: a table of what CommonMark says.
import { expect, test } from "vitest";
import { markdownBlocks } from "../../../src/kebab/markdown-blocks.ts";

/** `h1 4-5`: a heading of the first level on these lines. Text and tables are left out. */
const told = (source: string): string =>
  [...markdownBlocks(source, 1)]
    .filter(({ kind }) => kind === "heading" || kind === "code")
    .map(({ kind, level, first, last }) => {
      const lines = first === last ? `${first}` : `${first}-${last}`;
      return kind === "heading" ? `h${level} ${lines}` : `code ${lines}`;
    })
    .join(", ");

test.each([
  ["a fence on the line of its list item", "# A\n\n- ```sh\n  # a\n  ```\n\n# B\n", "h1 1, code 3-5, h1 7"],
  ["a fence behind a number", "1. ```\n   # a\n   ```\n# B", "code 1-3, h1 4"],
  ["a fence in an item", "- a\n\n  ```\n  # b\n\n  c\n  ```\n# B", "code 3-7, h1 8"],
  ["a fence in an item of an item", "- a\n  - ~~~\n    # b\n    ~~~\n# B", "code 2-4, h1 5"],
  ["a fence that ends with its item", "- ```\n  # a\n\n# B", "code 1-2, h1 4"],
  ["a fence that ends with its quote", "> ```\n> # a\n\n# B", "code 1-2, h1 4"],
  ["an empty line of a quoted fence", "> ```\n>\n> # a\n> ```\n# B", "code 1-4, h1 5"],
  ["ticks four spaces deep are code of one line", "# A\n\n    ```\n\n# B", "h1 1, code 3, h1 5"],
  ["ticks four spaces deep below text are text", "a\n    ```\n# B", "h1 3"],
  ["an end four spaces deep is none", "```\na\n    ```\n# b\n```\n# B", "code 1-5, h1 6"],
  ["an end that is shorter is none", "````\n```\n# a\n````\n# B", "code 1-4, h1 5"],
  ["an end that is longer", "```\na\n``````\n# B", "code 1-3, h1 4"],
  ["an end with words is none", "```\na\n``` b\n# b\n```\n# B", "code 1-5, h1 6"],
  ["an end of other signs is none", "```\n~~~\n# a\n```\n# B", "code 1-4, h1 5"],
  ["tildes may have ticks behind them", "~~~ a`b\n# a\n~~~\n# B", "code 1-3, h1 4"],
  ["a fence that nothing ends", "```\na\n# b\n\n\n", "code 1-3"],
  ["two fences without a line between", "```\na\n```\n```\nb\n```", "code 1-3, code 4-6"],
  ["code by depth, with an empty line", "    a\n\n    b\n\nc", "code 1-3"],
  ["code by a tab", "\ta\n\nb", "code 1"],
  ["code by depth in an item", "- a\n\n      # b\n\n# B", "code 3, h1 5"],
  ["code by depth on the line of its item", "-     # a\n# B", "code 1, h1 2"],
  ["text of an item that is deep is no code", "10. a\n\n    b\n\n# B", "h1 5"],

  ["a heading in an item", "# A\n\n- a\n\n  # b\n\n  c\n\n## C", "h1 1, h2 9"],
  ["a heading on the line of its item", "- # a\n1. # b\n# B", "h1 3"],
  ["a heading in a quote", "> # a\n# B", "h1 2"],
  ["a heading behind a list, without depth enough", "- a\n\n # B", "h1 3"],
  ["an item of nothing ends with an empty line", "-\n\n  # B", "h1 3"],
  ["a heading four spaces deep below text is text", "a\n    # b", ""],
  ["seven signs, and no space", "####### a\n#b\n#\tc", "h1 3"],

  ["a line below an item is a rule", "- a\n---\nb", ""],
  ["a line below a quote is a rule", "> a\n---\nb", ""],
  ["a line below a list below text is a rule", "a\n- b\n---\nc", ""],
  ["a line below a quote below text is a rule", "a\n> b\n---\nc", ""],
  ["what goes on with a quote has no line below", "> a\nb\n===\n# B", "h1 4"],
  ["an underlined heading in an item", "- a\n  ---\n# B", "h1 3"],
  ["an underlined heading behind a list", "- a\n\nb\n---", "h2 3-4"],
  ["an underlined heading behind a rule", "***\na\n===", "h1 2-3"],
  ["an underlined heading of lines", "a\nb\n===", "h1 1-3"],
  ["a number that is not one goes on with the text", "a\n2. b\n---", "h2 1-3"],
  ["a number that is one begins a list", "a\n1. b\n---", ""],
  ["signs with space between are no underline", "a\n- -\n= =\nb", ""],
  ["a definition is no heading", "[a]: /b\n===\n[c]: /d 'e'\n\n[f]: <g>\nb\n---", "h2 6-7"],
  ["a rule of spaces", "a\n- - -\nb", ""],

  ["a block of HTML", "# A\n\n<div>\n# a\n```\n</div>\n\n# B", "h1 1, h1 8"],
  ["a block of HTML below text", "a\n<p>\n# b\n\n# B", "h1 5"],
  ["the end of HTML begins a block as well", "</td>\n# a\n\n# B", "h1 4"],
  ["any tag alone on its line", "<my-tag a='b'>\n# a\n\n# B", "h1 4"],
  ["any tag alone on its line, below text", "a\n<my-tag>\n# B", "h1 3"],
  ["any tag with text behind it", "<b>a</b>\n# B", "h1 2"],
  ["a tag's name is a whole word", "<divx> a\n# B", "h1 2"],
  ["HTML that no empty line ends", "<pre>\n# a\n\n# b\n</pre>\n# B", "code 1-5, h1 6"],
  ["a comment", "<!-- a\n\n# b -->\n# B", "code 1-3, h1 4"],
  ["an instruction", "<?a\n\n# b ?>\n# B", "code 1-3, h1 4"],
  ["a declaration", "<!DOCTYPE html>\n# B", "code 1, h1 2"],
  ["characters", "<![CDATA[\n\n# a ]]>\n# B", "code 1-3, h1 4"],
  ["HTML in an item ends with it", "- <pre>\n  # a\n\n# B", "code 1-2, h1 4"],
  ["HTML four spaces deep is code", "    <pre>\n# B", "code 1, h1 2"],
  ["a comment within text is none", "a <!--\n# B\n-->", "h1 2"],
])("R-KB-5 %s", (_name, source, expected) => {
  expect(told(source)).toBe(expected);
});

test("R-KB-5 a line below more than three lines is a rule", () => {
  expect(told("a\nb\nc\n---")).toBe("h2 1-4");
  expect(told("a\nb\nc\nd\n---\n# B")).toBe("h1 6");
});

test("R-KB-3 code in a list stays whole, and what follows has its own heading", () => {
  const [, code, , after] = [...markdownBlocks("# A\n\n- ```sh\n  # install\n\n  npm i\n  ```\n\n# B\n\ntext", 1)];
  expect(code).toMatchObject({ kind: "code", text: "- ```sh\n  # install\n\n  npm i\n  ```", first: 3, last: 7 });
  expect(after).toMatchObject({ kind: "text", text: "text", first: 11 });
});
