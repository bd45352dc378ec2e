// The end of a JSON text that comes in pieces.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonScan } from "../../src/wire/json-scan.ts";

function progressOf(...pieces: readonly string[]) {
  const scan = jsonScan();
  for (const piece of pieces) scan.feed(piece);
  return scan.progress;
}

test.each([
  ["blank", ["", " \n\t"]],
  ["open", ["{"]],
  ["open", ['{"a', '":"}', '"']],
  ["open", ['{"a":"\\', '"}']],
  ["closed", ['{"a":"\\', '\\"}']],
  ["closed", ["{}", " \n"]],
  ["closed", ['{"a":[{', "}]", "}"]],
  ["open", ["{}", "{"]],
  ["open", ["5"]],
])("R-PROV-5 %s: %j", (progress, pieces) => expect(progressOf(...pieces)).toBe(progress));

test("R-PROV-5 an object is closed at its last character and not before, however it is cut", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const scan = jsonScan();
      const units = JSON.stringify(value).split("");
      for (const unit of units.slice(0, -1)) {
        scan.feed(unit);
        expect(scan.progress).toBe("open");
      }
      scan.feed(units.at(-1) ?? "");
      expect(scan.progress).toBe("closed");
    }),
  );
});
