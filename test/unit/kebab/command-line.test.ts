// The words and the settings of `npx holdfast`, without a server.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { readCommand, usageOf } from "../../../bin/command-line.mjs";
import { readSettings } from "../../../bin/settings.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-settings-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("R-KB-91 options are the fields of the request, and what is left out is not there", () => {
  expect(readCommand(["ask", "why?"])).toMatchObject({
    ok: true,
    value: { name: "ask", stream: false, body: { question: "why?" } },
  });
  const words = ["ask", "--k=8", "--seed=-7", "--temperature", "0.5", "--mode", "hybrid", "--explain", "--multi-hop"];
  expect(readCommand([...words, "--conversation", "talk", "--route", "near", "--stream", "--", "-why?"])).toMatchObject(
    {
      value: {
        stream: true,
        body: {
          question: "-why?",
          k: 8,
          seed: -7,
          temperature: 0.5,
          mode: "hybrid",
          explain: true,
          multi_hop: true,
          conversation: "talk",
          route: "near",
        },
      },
    },
  );
  expect(readCommand(["search", "why?", "--explain"])).toMatchObject({
    value: { body: { query: "why?", trace: true } },
  });
});

test.each([
  [[], "command"],
  [["answer", "x"], "command"],
  [["toString"], "command"],
  [["ask"], "question"],
  [["ask", " "], "question"],
  [["ask", "two", "words"], "question"],
  [["search", ""], "query"],
  [["ask", "x", "--k", "0"], "k"],
  [["ask", "x", "--k", "101"], "k"],
  [["ask", "x", "--k", "1e1"], "k"],
  [["ask", "x", "--k", "2.5"], "k"],
  [["ask", "x", "--temperature", "warm"], "temperature"],
  [["ask", "x", "--seed", "1.5"], "seed"],
  [["ask", "x", "--timeout", "0"], "timeout"],
  [["ask", "x", "--retries", "-1"], "options"],
  [["ask", "x", "--mode", "fuzzy"], "mode"],
  [["ask", "x", "--session", "a", "--conversation", "b"], "conversation"],
  [["ask", "x", "--nope"], "options"],
  [["ask", "x", "--k"], "options"],
  [["search", "x", "--stream"], "options"],
  [["schema", "x"], "words"],
])("R-KB-92 words that cannot be meant are refused: %j", (words, field) => {
  expect(readCommand(words)).toMatchObject({
    ok: false,
    failure: { code: "generic", details: { reason: "invalid_input", field } },
  });
  expect(usageOf(words[0])).toMatch(/^usage: holdfast /);
});

const settingsOf = (fields: Record<string, string>, environment: Record<string, string> = {}) =>
  readSettings({ name: "schema", json: false, timeoutMs: 1000, retries: 0, ...fields }, environment);

function fileOf(text: string): string {
  const file = path.join(folder, "holdfast.json");
  writeFileSync(file, text);
  return file;
}

test("R-KB-96 a server may stand below a path, and without any word it is the local one", async () => {
  expect(await settingsOf({})).toEqual({
    ok: true,
    value: { server: { origin: "http://localhost:8787", key: undefined, timeoutMs: 1000 }, collection: undefined },
  });
  const environment = { HOLDFAST_URL: "https://example.test/ai//", HOLDFAST_KEY: "secret" };
  expect(await settingsOf({ collection: "notes" }, environment)).toMatchObject({
    value: { server: { origin: "https://example.test/ai", key: "secret" }, collection: "notes" },
  });
});

test.each([
  "ftp://localhost",
  "http://user:word@localhost",
  "http://localhost/?key=word",
  "http://localhost/#word",
  "nowhere",
])("R-KB-96 no server is %s", async (server) => {
  const refused = await settingsOf({ server });
  expect(refused).toMatchObject({ ok: false, failure: { details: { field: "server" } } });
  expect(JSON.stringify(refused)).not.toContain("word");
});

test.each(["a key", "line\n", "schlüssel"])("R-KB-96 no key is %j, and it is not printed", async (key) => {
  const refused = await settingsOf({ key });
  expect(refused).toMatchObject({ ok: false, failure: { details: { field: "key" } } });
  expect(JSON.stringify(refused)).not.toContain(JSON.stringify(key).slice(1, -1));
});

test.each(["{", "[]", "null", '{"server":1}', '{"key":"secret"}', '{"keyVar":"NOBODY"}'])(
  "R-KB-96 a file that cannot be used is named with its cause: %s",
  async (text) => {
    const config = fileOf(text);
    const refused = await settingsOf({ config });
    expect(refused).toMatchObject({ ok: false, failure: { code: "config_invalid", details: { path: config } } });
    expect(JSON.stringify(refused)).not.toContain("secret");
  },
);

test("R-KB-96 a file that is not there is named", async () => {
  const config = path.join(folder, "none.json");
  expect(await settingsOf({ config })).toMatchObject({
    ok: false,
    failure: { code: "config_invalid", details: { path: config, cause: "ENOENT" } },
  });
});
