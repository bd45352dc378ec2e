// The address of a host page's MCP server: public, https, at an allowed origin.
import { describe, expect, test } from "vitest";
import { hostUrlProblem } from "../../src/run/host-url.ts";

const closed = { open: false, origins: undefined };

test.each([
  "https://mcp.shop.example/rpc",
  "https://shop.example",
  "https://shop.example:8443/a?b=c#d",
  "https://SHOP.example./rpc",
  "https://svc.example/",
  "https://local.example.com/",
  "https://mylocal.example/",
  "https://xn--e1afmkfd.example/",
  "https://8.8.8.8/",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700::1111]/",
  "https://[2001:4860:4860::8888]/",
])("R-TOOL-19 %s may be a host server", (url) => {
  expect(hostUrlProblem(url, closed)).toBeUndefined();
});

describe("refused", () => {
  test.each([
    ["", "is not a valid URL"],
    ["shop.example", "is not a valid URL"],
    ["https://", "is not a valid URL"],
    ["https://shop.example/a b", "is not a valid URL"],
    [" https://shop.example/", "is not a valid URL"],
    [`https://shop.example/${"a".repeat(2048)}`, "is not a valid URL"],
    ["ftp://shop.example/", "is not an http URL"],
    ["javascript:alert(1)", "is not an http URL"],
    ["data:text/plain,x", "is not an http URL"],
    ["https://user@shop.example/", "holds a user name or password"],
    ["https://:pass@shop.example/", "holds a user name or password"],
    ["http://shop.example/", "is not https"],
    ["http://localhost:3000/", "is not https"],
  ])("R-TOOL-19 %s %s", (url, problem) => {
    expect(hostUrlProblem(url, closed)).toBe(problem);
  });

  test.each([
    "https://localhost/",
    "https://LOCALHOST./",
    "https://localhost../",
    "https://localhost.../",
    "https://app.localhost/",
    "https://app.localhost../",
    "https://intranet../",
    "https://app..localhost/",
    "https://shop..example/",
    "https://host.localdomain/",
    "https://kubernetes.default/",
    "https://kubernetes.default.svc/",
    "https://kubernetes.default.svc.cluster.local./",
    "https://metadata.google.internal../",
    "https://shop.corp/",
    "https://shop.private/",
    "https://shop.intranet/",
    "https://shop.home/",
    "https://shop.test/",
    "https://shop.invalid/",
    "https://ipv4only.arpa/",
    "https://intranet/",
    "https://printer.local/",
    "https://db.internal./",
    "https://nas.home.arpa/",
    "https://router.lan/",
    "https://0.0.0.0/",
    "https://10.1.2.3/",
    "https://100.64.0.1/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://198.18.0.1/",
    "https://203.0.113.9/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::8.8.8.8]/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[fe80::1]/",
    "https://[ff02::1]/",
    "https://[2001::1]/",
    "https://[2001:db8::1]/",
    "https://[2002:7f00:1::]/",
    "https://[3fff::1]/",
  ])("R-TOOL-19 %s is not a public host", (url) => {
    expect(hostUrlProblem(url, closed)).toBe("is not a public host");
  });
});

describe("an open Worker", () => {
  const open = { open: true, origins: undefined };
  test.each(["http://localhost:3000/mcp", "http://127.0.0.1:1/", "http://[::1]:8080/", "https://localhost/"])(
    "R-TOOL-19 %s may be a host server",
    (url) => {
      expect(hostUrlProblem(url, open)).toBeUndefined();
    },
  );

  test.each([
    ["http://shop.example/", "is not https"],
    ["http://192.168.0.1/", "is not https"],
    ["https://192.168.0.1/", "is not a public host"],
    ["http://app.localhost/", "is not https"],
  ])("R-TOOL-19 %s %s all the same", (url, problem) => {
    expect(hostUrlProblem(url, open)).toBe(problem);
  });
});

test("R-TOOL-19 configured origins are the only ones", () => {
  const rules = { open: false, origins: ["https://shop.example", "https://mcp.example:8443"] };
  expect(hostUrlProblem("https://shop.example/mcp", rules)).toBeUndefined();
  expect(hostUrlProblem("https://shop.example:443/mcp", rules)).toBeUndefined();
  expect(hostUrlProblem("https://mcp.example:8443/", rules)).toBeUndefined();
  for (const url of ["https://mcp.example/", "https://shop.example.evil.example/", "https://sub.shop.example/"]) {
    expect(hostUrlProblem(url, rules)).toBe("is not at an allowed origin");
  }
  expect(hostUrlProblem("https://10.0.0.1/", { open: false, origins: ["https://10.0.0.1"] })).toBe(
    "is not a public host",
  );
});
