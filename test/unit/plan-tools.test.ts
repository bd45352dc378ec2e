// The configuration's tools and servers as a run uses them, and which schemas a model may be given.
import { describe, expect, test } from "vitest";
import { objectSchema } from "../../schemas/json-schema.ts";
import { planServers, planTools } from "../../src/run/plan-tools.ts";
import { checkConfig } from "../../src/run/settings.ts";

function configOf(fields: object) {
  const checked = checkConfig({ targets: [{ id: "demo", adapter: "demo" }], routes: { default: ["demo"] }, ...fields });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.config;
}

const config = configOf({
  tools: [
    { name: "get_order", url: "https://shop.test/order" },
    {
      name: "cancel_order",
      description: "Cancels an order.",
      url: "https://shop.test/cancel",
      parameters: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      domain: "shop",
      mode: "delete",
      confirmation: "required",
      idempotent: true,
      timeoutMs: 500,
      keyVar: "SHOP_KEY",
    },
  ],
  mcpServers: [
    { id: "files", url: "https://files.test/mcp" },
    { id: "crm", url: "https://crm.test/mcp", keyVar: "CRM_TOKEN", allow: ["read_*"] },
  ],
});

describe("a configured tool", () => {
  test("R-TOOL-16 has the defaults of what is left out", () => {
    expect(planTools(config, [])).toEqual([
      {
        name: "get_order",
        description: "",
        parameters: { type: "object", properties: {} },
        domain: "other",
        mode: "read",
        confirmation: false,
        idempotent: false,
        timeoutMs: 30_000,
        source: { type: "http", url: "https://shop.test/order" },
      },
      {
        name: "cancel_order",
        description: "Cancels an order.",
        parameters: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
        domain: "shop",
        mode: "delete",
        confirmation: true,
        idempotent: true,
        timeoutMs: 500,
        source: { type: "http", url: "https://shop.test/cancel", keyVar: "SHOP_KEY" },
      },
    ]);
  });

  test("R-TOOL-16 is there when every rule allows it", () => {
    const rule = { allow: ["*_order"], domains: [], without: [] };
    expect(planTools(config, [rule, { ...rule, maxMode: "write" }]).map(({ name }) => name)).toEqual(["get_order"]);
    expect(planTools(config, [rule, { ...rule, allow: [] }])).toEqual([]);
  });

  test("R-TOOL-16 servers are planned with the names that they allow", () => {
    expect(planServers(config)).toEqual([
      { type: "mcp", id: "files", url: "https://files.test/mcp", allow: ["*"] },
      { type: "mcp", id: "crm", url: "https://crm.test/mcp", keyVar: "CRM_TOKEN", allow: ["read_*"] },
    ]);
  });
});

describe("a schema of an object", () => {
  test.each<[string, unknown]>([
    ["of anything", {}],
    ["without properties", { type: "object" }],
    [
      "with a schema of each kind",
      { properties: { a: true, b: false, c: { type: ["string", "null"] }, d: { enum: [1] } } },
    ],
    [
      "with lists",
      { properties: { a: { type: "array", items: { type: "string" } }, b: { prefixItems: [{}], items: false } } },
    ],
    ["with alternatives", { anyOf: [{ required: ["a"] }, { required: ["b"] }], not: { required: ["c"] } }],
    ["with references", { $defs: { a: { type: "string" } }, properties: { a: { $ref: "#/$defs/a" } } }],
    ["with annotations that nobody knows", { "x-order": 1, default: {}, examples: [1], additionalProperties: false }],
    [
      "whose properties have names of keywords",
      { properties: { type: { type: "string" }, required: { type: "boolean" } } },
    ],
  ])("R-TOOL-15 %s", (_, schema) => {
    expect(objectSchema(schema)).toEqual({
      schema: expect.objectContaining({ type: "object", properties: expect.anything() }),
    });
  });

  test.each<[string, unknown, string]>([
    ["no object", "none", ""],
    ["nothing", null, ""],
    ["a list", [], ""],
    ["a boolean", true, ""],
    ["of another type", { type: "string" }, "/type"],
    ["of several types", { type: ["object", "null"] }, "/type"],
    ["of no known type", { properties: { a: { type: "text" } } }, "/properties/a/type"],
    ["of a type that is no text", { properties: { a: { type: 7 } } }, "/properties/a/type"],
    ["of no type at all", { properties: { a: { type: [] } } }, "/properties/a/type"],
    ["with properties in a list", { properties: [] }, "/properties"],
    ["with a property that is no schema", { properties: { a: "string" } }, "/properties/a"],
    ["with required as a flag", { properties: { a: { type: "string", required: true } } }, "/properties/a/required"],
    ["with a required that is no text", { required: [1] }, "/required"],
    ["with items that are no schema", { properties: { a: { items: "string" } } }, "/properties/a/items"],
    ["with no alternative", { anyOf: [] }, "/anyOf"],
    ["with an alternative that is no schema", { oneOf: [null] }, "/oneOf/0"],
    ["with an enum that is no list", { properties: { a: { enum: "x" } } }, "/properties/a/enum"],
    ["with a reference that is no text", { properties: { a: { $ref: 1 } } }, "/properties/a/$ref"],
    ["with a pattern that is no text", { properties: { a: { pattern: {} } } }, "/properties/a/pattern"],
  ])("R-TOOL-15 is not one: %s", (_, schema, fault) => {
    expect(objectSchema(schema)).toEqual({ fault });
  });
});
