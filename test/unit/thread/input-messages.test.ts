// A request's own messages on their way through a thread: a model of a later run reads them as the first one did.
import { expect, test } from "vitest";
import type { Message } from "../../../schemas/run.ts";
import { givenResults, inputMessages, isSaid } from "../../../src/thread/input-messages.ts";
import { modelMessages } from "../../../src/thread/model-messages.ts";

const said: Message[] = [
  { role: "user", content: "What is there?" },
  {
    role: "assistant",
    content: "Let me look.",
    toolCalls: [{ toolCallId: "c1", toolName: "look", input: { page: 1 } }],
  },
  { role: "tool", toolCallId: "c1", output: "Nothing.", isError: true },
  { role: "assistant", content: "Nothing." },
  {
    role: "user",
    content: [
      { type: "text", text: "And here?" },
      { type: "image", url: "https://example.com/a.png" },
      { type: "image", data: "aGk=", mediaType: "image/png" },
    ],
  },
];

test("R-THR-30 what a request says is read back from the thread as it was said", () => {
  const messages = inputMessages("run-1", said.filter(isSaid));
  expect(modelMessages(messages, () => false)).toEqual(said);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(said.length);
  // A repeat of the start brings the same.
  expect(inputMessages("run-1", said.filter(isSaid))).toEqual(messages);
});

test("R-THR-30 numbers keep their digits on the way", () => {
  const calling: Message[] = [
    {
      role: "assistant",
      toolCalls: [
        { toolCallId: "c1", toolName: "look", input: { id: 9007199254740992 }, inputJson: '{"id":9007199254740993}' },
      ],
    },
    { role: "tool", toolCallId: "c1", output: { id: 9007199254740992 }, outputJson: '{"id":9007199254740993}' },
  ];
  expect(modelMessages(inputMessages("run-1", calling.filter(isSaid)), () => false)).toEqual([
    calling[0],
    { role: "tool", toolCallId: "c1", output: '{"id":9007199254740993}' },
  ]);
});

test("R-THR-30 instructions are not part of it", () => {
  expect(said.filter(isSaid)).toEqual(said);
  expect([{ role: "system" as const, content: "Be brief." }].filter(isSaid)).toEqual([]);
});

test("R-THR-32 results that a request brings are those of the calls that they name", () => {
  const open = [{ toolCallId: "c1", toolName: "ask_user" }];
  const [message] = givenResults("run-2", [{ toolCallId: "c1", output: { yes: true } }], open);
  expect(message).toMatchObject({
    type: "tool",
    id: "tool-run-2-c1",
    name: "ask_user",
    tool_call_id: "c1",
    content: '{"yes":true}',
    status: "success",
  });
});
