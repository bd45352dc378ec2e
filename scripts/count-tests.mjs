// Prints "N passed, N failed" for a JSON report of vitest (the one argument). Never runs a test.
// A file that could not be loaded has no tests to count and counts as one that failed.
import { readFileSync } from "node:fs";

const [, , file = ""] = process.argv;
const { passed, failed } = count(read(file));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;

function count(report) {
  const broken = report.testResults.filter(({ status, assertionResults }) => {
    return status === "failed" && assertionResults.every((test) => test.status !== "failed");
  });
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length };
}

function read(name) {
  try {
    return JSON.parse(readFileSync(name, "utf8"));
  } catch (error) {
    console.error(`No test report was written: ${error.message}`);
    return { testResults: [], numPassedTests: 0, numFailedTests: 0 };
  }
}
