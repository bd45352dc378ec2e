// The phrases by which providers name a failure's cause where no machine word does. For classing only: the text is never repeated.
import type { FailureClass } from "../../schemas/failure.ts";

/** No wait will help: money, a plan, a day's allowance, or a limit that is smaller than the request. Said under words for rate limits too. */
const spent =
  /credit balance|insufficient (balance|credits?|funds|quota)|(no|any|more|out of|all available) credits|spend(ing)? limit|api usage limits|extra usage is required|in arrears|per[- ]day, please wait|free-models-per-day|daily (free )?allocation|request too large for .{0,200}\b(tokens per min|tpm\b)/i;

const contextLength =
  /context[ _-]?(length|window|size|limit)|maximum context|(prompt|input|request) is too long|too many (input )?tokens(?!,? (processed|please wait))|input tokens? (count )?.{0,40}exceed|tokens? in request more than|(maximum|max) (allowed )?(prompt|input|model) length|exceeded model token limit|maximum number of tokens|reduce the length of|range of input length|exceeds the limit of \d+|tokens \+ .max_new_tokens/i;

/** In the order of their trust: the first that fits decides. */
const phrases: readonly (readonly [FailureClass, RegExp])[] = [
  ["quota", /exceeded your current quota|billing (hard )?limit|payment required/i],
  [
    "content_policy",
    /content management policy|content[ _-]?(policy|filter)|responsible ai|(was|been) flagged|usage policy|inappropriate content|sensitive content|deny-?listed|prohibited content/i,
  ],
  [
    "auth",
    /(invalid|incorrect|missing|no) (api[ -]?(key|token)|auth credentials)|api[ -]?(key|token) ((is|has) )?(not valid|invalid|missing|expired)/i,
  ],
  [
    "model_not_found",
    /\bmodel\b.{0,200}\b(not found|not exist|deprecated|decommissioned)|(invalid|unknown|no such) model|(not a valid|invalid) model id|model identifier is invalid|on-demand throughput/i,
  ],
  [
    "overloaded",
    /overloaded|(no|out of|over|at) capacity|capacity exceeded|server busy|high (demand|traffic|load)|(temporarily|currently) unavailable|loading model|model is (currently )?loading/i,
  ],
  ["rate_limited", /rate[ -]?limit|too many requests|throttl/i],
];

/** A status would say it, and better. */
const broken =
  /internal (server )?error|unexpected(ly)? (eof|stopped|error)|(runner|model) .{0,40}(terminated|stopped|crashed)|timed? ?out|connection (was )?(reset|refused|closed)|bad gateway|service unavailable|out of memory|more system memory/i;

/** Whether the text says that waiting will not help, whatever the words beside it say of rates. */
export const saysSpent = (text: string): boolean => spent.test(text);

/** The class that a text names beside this HTTP status, if there is one. */
export function classOfPhrase(text: string, status: number | undefined): FailureClass | undefined {
  if (spent.test(text)) return "quota";
  // Beside a 429 a count of tokens is a rate, no length.
  if (status !== 429 && contextLength.test(text)) return "context_length";
  const named = phrases.find(([, phrase]) => phrase.test(text))?.[0];
  return named ?? (status === undefined && broken.test(text) ? "upstream_5xx" : undefined);
}
