// Runs that live through kills, each with three readers, and everything that must hold for each of them once it has ended.
import { expect } from "vitest";
import * as v from "valibot";
import { runStateSchema } from "../../schemas/run.ts";
import { shownText, startBody } from "../support/api.ts";
import type { FaultProvider } from "../support/fault-provider/server.ts";
import type { Script } from "../support/fault-provider/script.ts";
import { OPENAI_STREAM_TYPE, openAiDelta } from "../support/provider-bytes/openai-chat.ts";
import { answerScript, streamScript } from "../support/provider-bytes/scripts.ts";
import { anthropic, openAi, pathOf } from "../support/scripted-targets.ts";
import type { Draw } from "./draws.ts";
import type { Policies } from "./moments.ts";
import { eventsIn, expectKept, expectRestated, expectUntouched, expectWhole, receivedIn } from "./promises.ts";
import { trailOf } from "./trail.ts";
import type { WorkerdServer } from "./workerd-server.ts";

export const MAX_RECOVERIES = 3;

/** What a run's providers do. Travels in the prompt, so that one path can serve all runs. */
interface Pace {
  words: number;
  delayMs: number;
  /** Before the first word. */
  firstMs: number;
  /** 1: the first target is overloaded, and the second one answers. */
  busy: number;
}

const promptOf = ({ words, delayMs, firstMs, busy }: Pace): string =>
  `words=${words} delay=${delayMs} first=${firstMs} busy=${busy}`;

function paceIn(body: string): Pace {
  const [, words, delayMs, firstMs, busy] = /words=(\d+) delay=(\d+) first=(\d+) busy=(\d)/.exec(body) ?? [];
  return { words: Number(words), delayMs: Number(delayMs), firstMs: Number(firstMs), busy: Number(busy) };
}

const wordsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index}${index % 7 === 0 ? " 北京🙂" : ""} `);

export function scriptPaths(provider: FaultProvider): void {
  provider.on(pathOf(openAi), ({ body }) => {
    const pace = paceIn(body);
    const thinking = openAiDelta({ reasoning_content: "Let me count. " });
    return pace.busy === 1 ? answerScript(openAi.refusal(503, "busy")) : paced(pace, withThought(pace, thinking));
  });
  provider.on(pathOf(anthropic, "b"), ({ body }) => {
    const pace = paceIn(body);
    return paced(pace, anthropic.whole(wordsOf(pace.words)));
  });
}

function withThought({ words }: Pace, thinking: string): string[] {
  const [role = "", ...rest] = openAi.whole(wordsOf(words));
  return words % 2 === 0 ? [role, thinking, ...rest] : [role, ...rest];
}

/** By the clock, not by the sum of its pauses: a slow machine must not make runs so long that none survives. */
function* paced({ delayMs, firstMs }: Pace, events: readonly string[]): Script {
  const first = performance.now() + firstMs;
  let sent = 0;
  for (const step of streamScript(OPENAI_STREAM_TYPE, events)) {
    if (step.step === "chunk") yield { step: "delay", ms: Math.max(0, first + delayMs * sent++ - performance.now()) };
    yield step;
  }
}

/** How a run went; the numbers are for the report, the texts for a later look. */
export interface Ended {
  url: string;
  log: string;
  outcome: string;
  completed: boolean;
  recoveries: number;
  ranges: number;
  released: number;
}

/** One run from its start to its end, whatever is killed meanwhile. */
export async function liveThrough(
  server: WorkerdServer,
  provider: FaultProvider,
  runId: string,
  policies: Policies,
  draw: Draw,
): Promise<Ended> {
  const delayMs = draw(2, 12);
  const pace: Pace = {
    words: Math.ceil(draw(500, 2500) / delayMs),
    delayMs,
    firstMs: draw(0, 400),
    busy: draw(0, 3) === 0 ? 1 : 0,
  };
  const body = startBody({ requestId: runId, prompt: `${runId} ${promptOf(pace)}`, ...policies });
  const runs = `${server.origin}/v1/runs`;
  const url = `${runs}/${runId}`;
  const all = trailOf({ server, url: runs, body });
  const late = trailOf({ server, url: `${url}/events` });
  const leaver = trailOf({ server, url: `${url}/events` });
  const [joinAt, leaveAt, returnAfter] = [draw(1, pace.words), draw(1, pace.words), draw(1, 100)];
  await Promise.all([
    all.readUntil(() => false),
    all.has(joinAt).then(() => late.readUntil(() => false)),
    all.has(1).then(async () => {
      await leaver.readUntil(({ received }) => received.length >= leaveAt);
      await all.has(leaver.received.length + returnAfter);
      await leaver.readUntil(() => false);
    }),
  ]);

  const log = await textOf(server, `${url}/events`);
  const standing = receivedIn(log);
  const events = eventsIn(standing);
  expectWhole(events);
  const ranges = expectRestated(events);
  for (const { received } of [all, late, leaver]) {
    expectWhole(eventsIn(received));
    expect(received).toHaveLength(standing.length);
    expect(shownText(eventsIn(received))).toBe(shownText(events));
    expectKept(received, standing);
    if (policies.durability === "strict") expectUntouched(received, standing);
  }

  const outcome = await textOf(server, `${url}/outcome`);
  const end = events.at(-1)?.payload;
  expect(outcome).toBe(JSON.stringify(end));
  const { recoveries } = v.parse(runStateSchema, JSON.parse(await textOf(server, url)));
  const text = wordsOf(pace.words).join("");
  if (end?.["outcome"] === "completed") {
    expect(end["finalText"]).toBe(text);
  } else {
    expect(end).toMatchObject({
      outcome: "error",
      error: { errorClass: "Unavailable", retryable: true, details: { code: "interrupted" } },
    });
    expect(text.startsWith(shownText(events))).toBe(true);
    expect(recoveries).toBeGreaterThan(policies.onMidStreamFailure === "fail" ? 0 : MAX_RECOVERIES);
  }
  // Each life of the run may call each target once.
  const calls = provider.calls().filter((call) => call.body.includes(`${runId} `));
  expect(calls.length).toBeLessThanOrEqual((1 + pace.busy) * (1 + recoveries));
  expect(ranges.length).toBeLessThanOrEqual(recoveries);
  return {
    url,
    log,
    outcome,
    completed: end?.["outcome"] === "completed",
    recoveries,
    ranges: ranges.length,
    released: ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0),
  };
}

/** The body of a GET, asked again when the server was killed under it. */
async function textOf(server: WorkerdServer, url: string): Promise<string> {
  const kills = server.kills();
  for (let broken = 0; broken <= server.kills() - kills; broken++) {
    await server.up();
    let response: Response;
    let text: string;
    try {
      response = await fetch(url);
      text = await response.text();
    } catch {
      continue;
    }
    expect(response.status, url).toBe(200);
    return text;
  }
  throw new Error(`${url} broke without a kill`);
}
