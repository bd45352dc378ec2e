// A backend that carries a run out elsewhere, as a process of its own that tests can kill: `node push-producer.ts URL EPOCH WORD...`
// asks where the run stands, pushes a word per batch from there on, and then the end. Prints each answer.
const [url = "", epoch = "", ...words] = process.argv.slice(2);

interface Answer {
  nextSequence: number;
  lastSequence: number;
}

async function push(sequence: number, events: unknown[]): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ epoch: Number(epoch), sequence, events }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  const answer: Answer = JSON.parse(text);
  console.log(text);
  return answer;
}

let { nextSequence } = await push(0, []);
while (nextSequence < words.length) {
  ({ nextSequence } = await push(nextSequence, [
    { type: "content_delta", payload: { text: words[nextSequence] ?? "" } },
  ]));
}
await push(nextSequence, [{ type: "terminal", payload: { outcome: "completed", stopReason: "stop" } }]);

export {};
