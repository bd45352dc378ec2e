// Where a visitor's host page may have its MCP server: the one address that does not come from the configuration. Looks at the text
// of the address only; what a name resolves to is the platform's to guard.

export interface HostUrlRules {
  /** The Worker is open, on localhost: so may the host page be. */
  open: boolean;
  /** Exact origins; `undefined` or none: anywhere public. */
  origins: readonly string[] | undefined;
}

/** What is wrong with the address, in words that do not repeat it; `undefined` when it may be used. */
export function hostUrlProblem(text: string, { open, origins }: HostUrlRules): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || text.length > 2048 || /\s/.test(text)) return "is not a valid URL";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "is not an http URL";
  if (url.username !== "" || url.password !== "") return "holds a user name or password";
  const local = open && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "http:" && !local) return "is not https";
  if (!local && !isPublicHost(url.hostname)) return "is not a public host";
  if (origins !== undefined && origins.length > 0 && !origins.some((one) => originOf(one) === url.origin)) {
    return "is not at an allowed origin";
  }
  return undefined;
}

const originOf = (text: string): string | undefined => (URL.canParse(text) ? new URL(text).origin : undefined);

/** Last labels of names that only mean something inside a network (`default` and `svc`: of a Kubernetes cluster). */
const innerNames = new Set([
  "arpa",
  "corp",
  "default",
  "home",
  "internal",
  "intranet",
  "invalid",
  "lan",
  "local",
  "localdomain",
  "localhost",
  "private",
  "svc",
  "test",
]);

function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPublicV6(hostname.slice(1, -1));
  // The parser of URLs has made every spelling of an IPv4 address into four decimals.
  if (/^\d+(\.\d+){3}$/.test(hostname)) return isPublicV4(hostname);
  // Any number of dots at the end, a resolver may pass over.
  const labels = hostname.replace(/\.+$/, "").toLowerCase().split(".");
  return labels.length > 1 && !labels.includes("") && !innerNames.has(labels.at(-1) ?? "");
}

/** Ranges that are not for the public internet (IANA's special-purpose registry): first address, bits of the prefix. */
const reservedV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

function isPublicV4(address: string): boolean {
  const value = numberOf(address);
  return !reservedV4.some(([first, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor(numberOf(first) / size);
  });
}

const numberOf = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/**
 * Global unicast (2000::/3) and nothing that wraps an IPv4 address or is reserved: 2001::/23 (Teredo and others), 2001:db8::/32
 * (documentation), 2002::/16 (6to4), 3fff::/20 (documentation).
 */
function isPublicV6(address: string): boolean {
  const [first = 0, second = 0] = address.split(":").map((group) => Number.parseInt(group === "" ? "0" : group, 16));
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2002 || (first === 0x3fff && second < 0x1000)) return false;
  return first !== 0x2001 || (second >= 0x200 && second !== 0xdb8);
}
