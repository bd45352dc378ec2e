// Numbers that a JavaScript number cannot hold keep their digits through parsing and writing; all others are plain numbers.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exactValue, heldJson, parseExact } from "../../src/wire/exact-json.ts";
import { parseJson } from "../../src/wire/json.ts";

const rewritten = (text: string): string | undefined => JSON.stringify(parseExact(text)?.value);

describe("R-TOOL-23 a number that would change", () => {
  const changing = [
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "18446744073709551616",
    "1e400",
    "-1E400",
    "1e-400",
    "1234567890123.4567",
    "0.12345678901234567890123",
    "3.141592653589793238",
    `1${"0".repeat(400)}`,
    `0.${"1".repeat(200)}`,
  ];
  test.each(changing)("%s keeps its digits", (number) => {
    expect(rewritten(number)).toBe(number);
    const text = `{"a":[1,{"b":${number}}],"c":${number},"d":"${number}"}`;
    expect(rewritten(text)).toBe(text);
    const { value, json } = heldJson(parseExact(text)?.value);
    expect(json).toBe(text);
    expect(value).toEqual(parseJson(text)?.value);
    expect(JSON.stringify(exactValue(json, value))).toBe(text);
  });

  test.each([" 9007199254740993 ", '\n{ "a" :\t9007199254740993\r}', "[1,9007199254740993]"])(
    "is found behind any white space: %j",
    (text) => {
      expect(rewritten(text)).toBe(text.replaceAll(/\s/g, ""));
    },
  );
});

describe("R-TOOL-23 a number that stays what it is", () => {
  test.each([
    ["9007199254740992", "9007199254740992"],
    ["9007199254740994", "9007199254740994"],
    ["1.0", "1"],
    ["-0", "0"],
    ["1e2", "100"],
    ["100000000000000000000", "100000000000000000000"],
    ["1e23", "1e+23"],
    ["5e-324", "5e-324"],
    ["0.1", "0.1"],
    // What a double is written as with all its digits.
    ["0.10000000000000001", "0.1"],
    ["4.9406564584124654e-324", "5e-324"],
    ["1719930000.1234567", "1719930000.1234567"],
  ])("%s is a plain number", (number, written) => {
    for (const text of [number, `[${number}]`]) {
      const value = parseExact(text)?.value;
      expect(value).toEqual(parseJson(text)?.value);
      expect(heldJson(value)).toEqual({ value });
    }
    expect(rewritten(number)).toBe(written);
  });

  test.each(['"9007199254740993"', '{"9007199254740993":"at 1e400, 9007199254740993"}', '["1e400"]'])(
    "a text with digits is a text: %s",
    (text) => {
      expect(parseExact(text)).toEqual(parseJson(text));
      expect(heldJson(parseJson(text)?.value)).toEqual({ value: parseJson(text)?.value });
    },
  );

  test("R-TOOL-23 any other JSON is parsed as ever, and what is no JSON is refused", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseExact(text)).toEqual(parseJson(text));
      }),
    );
    for (const text of ["", "{", "[9007199254740993", "9007199254740993x", "01"]) {
      expect(parseExact(text)).toBeUndefined();
    }
  });

  test("R-TOOL-23 whole numbers of any size are written as they came", () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n })), (numbers) => {
        const text = `[${numbers.join(",")}]`;
        const { value, json } = heldJson(parseExact(text)?.value);
        expect(json ?? JSON.stringify(value)).toBe(text);
      }),
    );
  });
});

test("R-TOOL-23 a long run of digits is read in linear time", () => {
  const text = `{"a":${"9".repeat(1_000_000)},"b":"${"1e4 ".repeat(250_000)}","c":[${"0.0,".repeat(250_000)}0]}`;
  const began = performance.now();
  expect(rewritten(text)?.length).toBeGreaterThan(2_000_000);
  expect(performance.now() - began).toBeLessThan(3000);
});

test("R-TOOL-23 what is nested too deeply to be walked is parsed all the same", () => {
  const text = `${"[".repeat(200_000)}9007199254740993${"]".repeat(200_000)}`;
  expect(parseExact(text) === undefined).toBe(parseJson(text) === undefined);
});
