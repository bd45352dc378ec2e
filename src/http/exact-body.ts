// What a run's client or producer sends, as programs use it: where a tool's input or output holds a number that a JavaScript number cannot hold, its text
// stands beside it. Checks nothing.
import { heldJson, parseExact } from "../wire/exact-json.ts";
import { asArray, asRecord } from "../wire/json.ts";

/** As `parseJson`, with `inputJson` and `outputJson` added where they are needed. */
export function parseRunBody(text: string): { value: unknown } | undefined {
  const parsed = parseExact(text);
  if (parsed === undefined) return undefined;
  const { value, json } = heldJson(parsed.value);
  if (json !== undefined) keepTexts(asRecord(value) ?? {}, asRecord(parsed.value) ?? {});
  return { value };
}

/** The same for a batch of events: beside the inputs and outputs of the tools that they tell of. */
export function parsePushBody(text: string): { value: unknown } | undefined {
  const parsed = parseExact(text);
  if (parsed === undefined) return undefined;
  const { value, json } = heldJson(parsed.value);
  if (json === undefined) return { value };
  for (const [event, exact] of pairs(asRecord(value)?.["events"], asRecord(parsed.value)?.["events"])) {
    for (const [payload, same] of pairs([event["payload"]], [exact["payload"]])) {
      for (const field of ["input", "output"] as const) keepText(payload, same, field);
    }
  }
  return { value };
}

type Fields = Readonly<Record<string, unknown>>;

/** `exact`: the same body with all digits. */
function keepTexts(body: Fields, exact: Fields): void {
  for (const [given, message] of pairs(body["toolResults"], exact["toolResults"])) keepText(given, message, "output");
  for (const [given, message] of pairs(body["messages"], exact["messages"])) {
    keepText(given, message, "output");
    for (const [call, same] of pairs(given["toolCalls"], message["toolCalls"])) keepText(call, same, "input");
  }
}

function* pairs(list: unknown, exact: unknown): Generator<[Record<string, unknown>, Fields]> {
  const others = asArray(exact);
  for (const [index, item] of asArray(list).entries()) {
    const [one, other] = [asRecord(item), asRecord(others[index])];
    if (one !== undefined && other !== undefined) yield [one, other];
  }
}

function keepText(given: Record<string, unknown>, exact: Fields, field: "input" | "output"): void {
  const { json } = heldJson(exact[field]);
  if (json !== undefined) given[`${field}Json`] = json;
}
