// What the demo model `demo-tools` says to a chat completion's body: it thinks, calls one tool, and tells what came back. Pure; it judges no result and calls nothing itself.
import { asArray, asRecord, asText, isRecord, parseJson, type JsonRecord } from "../wire/json.ts";

export interface DemoAnswer {
  reasoning: string;
  text: string;
  call?: { id: string; name: string; input: JsonRecord };
}

/** UTF-16 units of a tool's result that are repeated. */
const MAX_REPEATED = 160;

/** The same for the same body. Without a tool that it may call, it says so. */
export function demoToolsAnswer(body: string): DemoAnswer {
  const request = asRecord(parseJson(body)?.value);
  const messages = asArray(request?.["messages"]).filter(isRecord);
  const last = messages.at(-1);
  if (last?.["role"] === "tool") return tell(contentOf(last));
  const asked = contentOf(last);
  const tool = choose(offered(request), asked);
  if (tool === undefined) {
    return {
      reasoning: "No tool was offered, so there is nothing to call.",
      text: "I am a demo model that calls tools. Offer me one, and I will call it.",
    };
  }
  const made = messages.reduce((sum, message) => sum + asArray(message["tool_calls"]).length, 0);
  return {
    reasoning: `The user said something, and I was offered the tool ${tool.name}. I will call it and see what comes back.`,
    text: `I will call ${tool.name} for you.`,
    call: { id: `call_demo_${made + 1}`, name: tool.name, input: inputFor(tool.parameters, asked) },
  };
}

function tell(result: string): DemoAnswer {
  const shown = result.length > MAX_REPEATED ? `${result.slice(0, MAX_REPEATED)}…` : result;
  return {
    reasoning: "The tool has answered. I will say what I got.",
    text: `The tool gave me this result: ${shown} That is all I know. ✓`,
  };
}

interface Offered {
  name: string;
  parameters: JsonRecord;
}

function offered(request: JsonRecord | undefined): Offered[] {
  const choice = request?.["tool_choice"];
  if (choice === "none") return [];
  const named = asText(asRecord(asRecord(choice)?.["function"])?.["name"]);
  return asArray(request?.["tools"]).flatMap((tool) => {
    const described = asRecord(asRecord(tool)?.["function"]);
    const name = asText(described?.["name"]);
    if (name === undefined || (named !== undefined && name !== named)) return [];
    return { name, parameters: asRecord(described?.["parameters"]) ?? {} };
  });
}

/** The tool with the most words of its name in the text; of equals, the first offered. */
function choose(tools: readonly Offered[], asked: string): Offered | undefined {
  const said = asked.toLowerCase();
  const hits = ({ name }: Offered): number =>
    name
      .toLowerCase()
      .split(/[_-]+/)
      .filter((word) => word.length > 2 && said.includes(word)).length;
  return tools.reduce<Offered | undefined>(
    (best, tool) => (best === undefined || hits(tool) > hits(best) ? tool : best),
    undefined,
  );
}

/** An object that fits a simple schema: its required properties, with the simplest value each may have. */
function inputFor(schema: JsonRecord, asked: string): JsonRecord {
  const properties = asRecord(schema["properties"]) ?? {};
  const required = asArray(schema["required"]).filter((name) => typeof name === "string");
  return Object.fromEntries(required.map((name) => [name, valueFor(asRecord(properties[name]) ?? {}, asked)]));
}

function valueFor(schema: JsonRecord, asked: string): unknown {
  if ("const" in schema) return schema["const"];
  if ("default" in schema) return schema["default"];
  const words = asArray(schema["enum"]);
  const said = asked.toLowerCase();
  if (words.length > 0) {
    return words.find((word) => typeof word === "string" && said.includes(word.toLowerCase())) ?? words[0];
  }
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  if (type === "number" || type === "integer") return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
  if (type === "boolean") return true;
  if (type === "array") return [];
  if (type === "null") return null;
  if (type === "object" || isRecord(schema["properties"])) return inputFor(schema, asked);
  return "demo";
}

/** The text of a message whose content is a string or parts. */
function contentOf(message: JsonRecord | undefined): string {
  const content = message?.["content"];
  if (typeof content === "string") return content;
  return asArray(content)
    .flatMap((part) => asText(asRecord(part)?.["text"]) ?? [])
    .join("");
}
