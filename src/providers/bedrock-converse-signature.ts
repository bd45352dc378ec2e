// Signs a Bedrock request with AWS credentials (Signature Version 4). Never repeats a part of them in a failure.
import { AwsV4Signer } from "aws4fetch";
import type { Target } from "../../schemas/config.ts";
import type { Failure } from "../../schemas/failure.ts";
import { asRecord, parseJson } from "../wire/json.ts";
import type { AdapterRequest } from "./provider.ts";

/** Whether a secret is credentials as JSON, rather than a Bedrock API key. */
export const isCredentials = (key: string): boolean => key.trimStart().startsWith("{");

/** The same request when there is nothing to sign with. */
export async function signBedrockRequest(
  request: AdapterRequest,
  target: Target,
  key: string | undefined,
): Promise<AdapterRequest | Failure> {
  if (key === undefined || !isCredentials(key)) return request;
  const secret = `The secret ${target.keyVar ?? ""}`;
  const credentials = credentialsOf(key);
  if (credentials === undefined) {
    return refused(
      `${secret} is no JSON object of accessKeyId, secretAccessKey and, optionally, sessionToken and region.`,
    );
  }
  const region = credentials.region ?? hostRegion(new URL(request.url).hostname);
  if (region === undefined) return refused(`${secret} names no region, and neither does the target's address.`);
  const { url, headers, body } = request;
  const signer = new AwsV4Signer({ method: "POST", url, headers, body, ...credentials, region, service: "bedrock" });
  const signed = await signer.sign();
  return { ...request, headers: Object.fromEntries(signed.headers) };
}

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  region?: string;
}

function credentialsOf(key: string): Credentials | undefined {
  const { accessKeyId, secretAccessKey, sessionToken, region } = asRecord(parseJson(key)?.value) ?? {};
  if (!isWord(accessKeyId) || !isWord(secretAccessKey)) return undefined;
  if ((sessionToken !== undefined && !isWord(sessionToken)) || (region !== undefined && !isWord(region)))
    return undefined;
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(region !== undefined && { region }),
  };
}

/** Visible ASCII without spaces: anything else could not stand in a header. */
const isWord = (value: unknown): value is string => typeof value === "string" && /^[\x21-\x7e]+$/.test(value);

const hostRegion = (host: string): string | undefined =>
  /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./.exec(host)?.[1];

const refused = (message: string): Failure => ({ failureClass: "auth", message });
