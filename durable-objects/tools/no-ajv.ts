// Stands in for Ajv in the bundle (`alias` in wrangler.toml): the MCP client brings it along, and with a validator of its own it is never
// used. It makes code at run time, which workerd refuses; without it the Worker is 57 KB smaller, compressed.

export default function ajv(): never {
  throw new Error("Ajv is not part of the Worker");
}
