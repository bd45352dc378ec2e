// AWS Signature Version 4 of one request, by its published description and node:crypto alone: what a signer under test is
// held against. Knows no service.
import { createHash, createHmac } from "node:crypto";

export interface SignedRequest {
  readonly method: string;
  /** As it is sent; canonical by escaping it once more. */
  readonly path: string;
  /** Pairs, decoded. */
  readonly query?: readonly (readonly [string, string])[];
  /** Those that are signed, `host` and `x-amz-date` among them; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SigningScope {
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/** Lower-case hexadecimal. */
export function signatureOf(request: SignedRequest, { secretAccessKey, region, service }: SigningScope): string {
  const names = Object.keys(request.headers).toSorted();
  const query = (request.query ?? [])
    .map(([name, value]) => `${escape(name)}=${escape(value)}`)
    .toSorted()
    .join("&");
  const canonical = [
    request.method,
    request.path.split("/").map(escape).join("/"),
    query,
    ...names.map((name) => `${name}:${(request.headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    sha256(request.body),
  ].join("\n");
  const time = request.headers["x-amz-date"] ?? "";
  const scope = [time.slice(0, 8), region, service, "aws4_request"];
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return hmac(key, ["AWS4-HMAC-SHA256", time, scope.join("/"), sha256(canonical)].join("\n")).toString("hex");
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** Everything but letters, digits, `-`, `.`, `_` and `~`, byte by byte. */
function escape(text: string): string {
  return Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}
