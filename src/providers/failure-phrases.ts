// The phrases by which providers name a failure's cause where no machine word does. For classing only: the text is never repeated.
import type { FailureClass } from "../../schemas/failure.ts";

/** UTF-16 units of a text that are read; a cause stands near its beginning. */
const MAX_TEXT = 8192;

/** No wait will help: money, a plan, a day's allowance, or a limit that is smaller than the request. Said under words for rate limits too. */
const spent =
  /credit balance|insufficient (balance|credits?|funds|quota)|(no|any|more|out of|all available) credits|spend(ing)? limit|api usage limits|extra usage is required|in arrears|per[- ]day, please wait|free-models-per-day|daily (free )?allocation|request too large for .{0,200}\b(tokens per min|tpm\b)/i;

const contextLength =
  /context (length|window|size|limit)|maximum context|(prompt|input|request) is too long|too many (input )?tokens(?!,? (processed|please wait))|input tokens? (count )?.{0,40}exceed|tokens? in request more than|(maximum|max) (allowed )?(prompt|input|model) length|exceeded model token limit|maximum number of tokens|reduce the length of the (messages?|prompt|input)|range of input length|tokens?( count)?( of)? \d+ exceeds the limit of \d+|tokens \+ \S+ must be <=/i;

const contentPolicy =
  /content management policy|content (policy|filter)|responsible ai|(was|been) flagged|usage policy|inappropriate content|sensitive content|deny-?listed|prohibited content/i;

const wrongKey =
  /(invalid|incorrect|missing|no) (api (key|token)|auth credentials)|api (key|token) ((is|has) )?(not valid|invalid|missing|expired)/i;

/** In the order of their trust: the first that fits decides. */
const phrases: readonly (readonly [FailureClass, RegExp])[] = [
  ["quota", /exceeded your current quota|billing (hard )?limit|payment required/i],
  ["content_policy", contentPolicy],
  ["auth", wrongKey],
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

/**
 * What is said of a request that is refused as it is: no rates and no load, which would be another status, and only as a
 * sentence of the provider's own begins, for the rest may be the request's words.
 */
const refusals: readonly (readonly [FailureClass, RegExp])[] = [
  [
    "quota",
    /(^|[.:!\n] ?)(your credit balance is too low|you have reached your (specified )?api usage limits|you exceeded your current quota|(you have )?insufficient (balance|credits?|funds|quota)|extra usage is required|payment required|billing hard limit)/i,
  ],
  ["context_length", contextLength],
  ["content_policy", contentPolicy],
  ["auth", wrongKey],
  [
    "model_not_found",
    /(^|[.:!\n] ?)(the |this )?((requested|specified|provided) )?model:?( \S+)? (((is|was|has been|does|could) )?(not found|not be found|not exist|deprecated|decommissioned))|(^|[.:!\n] ?)(invalid|unknown|no such) model\b|is not a valid model id|model identifier is invalid|with on-demand throughput/i,
  ],
];

/** A status would say it, and better. */
const broken =
  /internal (server )?error|unexpected(ly)? (eof|stopped|error)|(runner|model) .{0,40}(terminated|stopped|crashed)|timed? ?out|connection (was )?(reset|refused|closed)|bad gateway|service unavailable|out of memory|more system memory/i;

/** Whether the text says that waiting will not help, whatever the words beside it say of rates. */
export const saysSpent = (text: string): boolean => spent.test(withoutNames(text));

/** The class that a text names beside this HTTP status, if there is one. `refused`: the request is refused as it is. */
export function classOfPhrase(text: string, status: number | undefined, refused: boolean): FailureClass | undefined {
  const said = withoutNames(text);
  if (refused) return refusals.find(([, phrase]) => phrase.test(said))?.[0];
  if (spent.test(said)) return "quota";
  // Beside a 429 a count of tokens is a rate, no length.
  if (status !== 429 && contextLength.test(said)) return "context_length";
  const named = phrases.find(([, phrase]) => phrase.test(said))?.[0];
  return named ?? (status === undefined && broken.test(said) ? "upstream_5xx" : undefined);
}

/**
 * The text without what it quotes of the request: what stands in quotes or brackets, paths of fields and names made of several
 * words. A tool called `throttle` says nothing of rates. What is quoted as a message is another provider's sentence.
 */
function withoutNames(text: string): string {
  const unquoted = text
    .slice(0, MAX_TEXT)
    .replaceAll(
      /(?<!\w|message["']: ?)(["'`])(?!\s)[^\n]{0,200}?\1(?!\w)|[“‘][^”’\n]{0,200}[”’]|\[[^\]\n]{0,200}\]/g,
      NAME,
    );
  return unquoted.replaceAll(/\S+/g, (word) => (/\w[./_]\w|_\w/.test(word) && !/\d\.\d/.test(word) ? NAME : word));
}

/** Stands for a name. */
const NAME = "§";
