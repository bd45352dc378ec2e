// What the demo target says to a question with numbered sources: it quotes the first of them, with its marker. Pure; it does not think, and says so.
import { asArray, asRecord, asText, isRecord, parseJson } from "../wire/json.ts";

/** UTF-16 units of a source that are quoted. */
const MAX_QUOTED = 280;

/** `undefined` when the last message of a chat completion's body brings no numbered sources. */
export function demoSourcesAnswer(body: string): string | undefined {
  const messages = asArray(asRecord(parseJson(body)?.value)?.["messages"]).filter(isRecord);
  const asked = asText(messages.at(-1)?.["content"]) ?? "";
  if (!asked.startsWith("Sources:\n")) return undefined;
  const [, source = ""] = /^\[#1\] [^\n]*\n([^]*?)(?=\n\n\[#2\] |\n\nQuestion: |(?![^]))/m.exec(asked) ?? [];
  const quoted = quoteOf(source);
  if (quoted === "") return undefined;
  return `I am the embedded demo model: I do not think, I quote. Of your documents this passage fits your question best: “${quoted}” [#1]`;
}

/** Its first sentences on one line, without headings and marks of Markdown. */
function quoteOf(source: string): string {
  const lines = source.split(/\r\n|\r|\n/).filter((line) => !/^\s*(#{1,6}\s|```|~~~|[-=*_]{3,}\s*$)/.test(line));
  const said = lines.map((line) => line.replace(/^\s*(?:[-*+>]|\d+[.)])\s+/, "").trim()).filter((line) => line !== "");
  const text = (said.length > 0 ? said.join(" ") : source.trim()).replaceAll(/\s+/g, " ");
  if (text.length <= MAX_QUOTED) return text;
  const start = text.slice(0, MAX_QUOTED);
  const end = Math.max(...[". ", "! ", "? "].map((mark) => start.lastIndexOf(mark)));
  return end > 0 ? start.slice(0, end + 1) : `${start.slice(0, start.lastIndexOf(" ")).trimEnd()}…`;
}
