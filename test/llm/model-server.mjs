// A small OpenAI-compatible server for one model file (the one argument): llama.cpp computes every token on this machine's
// processor, in one thread. Prints its origin once it listens, and ends with its standard input. It knows no Holdfast, and never
// goes on for a client that left.
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { getLlama } from "node-llama-cpp";

const MAX_TOKENS = 3000;
/** Milliseconds between two tokens of the model `tiny-slow`: as fast as people's machines are with models of a real size. */
const SLOW_MS = 15;

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, progressLogs: false, maxThreads: 1 });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ sequences: 4, contextSize: 4096, threads: 1 });

/** One entry per request, in order: what became of it. */
const generations = [];

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
process.stdin.resume().once("end", () => process.exit());
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${server.address().port}`);

async function answer(request, response) {
  if (request.url === "/generations") return response.end(JSON.stringify(generations));
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  if (request.url === "/v1/chat/completions" && request.method === "POST") return complete(JSON.parse(body), response);
  response.writeHead(404, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message: "no such path", type: "not_found_error", code: null } }));
}

async function complete({ model: name, messages, max_tokens: limit = MAX_TOKENS }, response) {
  const generation = { tokens: 0, end: "running" };
  generations.push(generation);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const prompt = model.tokenize(messages.map(({ content }) => content).join("\n"));
  const sequence = context.getSequence();
  const envelope = { id: `chatcmpl-${generations.length}`, object: "chat.completion.chunk", created: 0, model: name };
  const send = (fields) => response.write(`data: ${JSON.stringify({ ...envelope, ...fields })}\n\n`);
  const choose = (delta, finish = null) => send({ choices: [{ index: 0, delta, finish_reason: finish }] });
  let end = "stop";
  try {
    response.writeHead(200, { "content-type": "text/event-stream" });
    choose({ role: "assistant", content: "" });
    let shown = prompt;
    let held = [];
    for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
      generation.tokens += 1;
      held.push(token);
      const text = model.detokenize(held, false, shown);
      // A character that came in part waits for the rest.
      if (!text.endsWith("\uFFFD")) {
        choose({ content: text });
        shown = [...shown, ...held].slice(-8);
        held = [];
      }
      if (generation.tokens === limit) end = "length";
      if (gone.signal.aborted) end = "abandoned";
      if (end !== "stop") break;
      if (name === "tiny-slow") await pause(SLOW_MS);
    }
    if (end === "abandoned") return;
    choose({}, end);
    const usage = { prompt_tokens: prompt.length, completion_tokens: generation.tokens };
    send({ choices: [], usage: { ...usage, total_tokens: prompt.length + generation.tokens } });
    response.end("data: [DONE]\n\n");
  } catch (error) {
    end = "failed";
    throw error;
  } finally {
    await sequence.dispose();
    generation.end = end;
  }
}
