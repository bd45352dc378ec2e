// What the demo target says to a question about documents: it quotes the first of its numbered sources, with the marker. Asked to split a question it looks for it as it is. Pure; it does not think, and says so.
import { asArray, asRecord, asText, isRecord, parseJson } from "../wire/json.ts";

/** UTF-16 units of a source that are quoted. */
const MAX_QUOTED = 280;

/** `undefined` when a chat completion's body neither brings numbered sources in its last message nor asks what to look for. */
export function demoSourcesAnswer(body: string): string | undefined {
  const messages = asArray(asRecord(parseJson(body)?.value)?.["messages"]).filter(isRecord);
  const [rules = "", asked = ""] = [messages[0], messages.at(-1)].map((message) => asText(message?.["content"]));
  if (rules.startsWith("You split a question")) return JSON.stringify([wholeQuestion(asked)]);
  if (rules.startsWith("You decide whether the passages")) return "[]";
  if (!asked.startsWith("Sources:\n")) return undefined;
  const [, source = ""] = /^\[#1\] [^\n]*\n([^]*?)(?=\n\n\[#2\] |\n\nQuestion: |(?![^]))/m.exec(asked) ?? [];
  const quoted = quoteOf(source);
  if (quoted === "") return undefined;
  return `I am the embedded demo model: I do not think, I quote. Of your documents this passage fits your question best: “${quoted}” [#1]`;
}

const wholeQuestion = (asked: string): string => /(?:^|\n\n)Question: ([^]*)/.exec(asked)?.[1] ?? asked;

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
