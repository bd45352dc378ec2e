// Who the page is to the server: a visitor with an embed token, kept for this tab and made anew when it is about to expire.
// The visitor's name outlives the tab, so that the chats are there again; the token does not.
import { type Fields, isFields, numberIn, parseJson, textIn } from "../fields.ts";
import type { ChatProblem } from "./problem.ts";

export type Fetched<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: ChatProblem };

export type Visitor = {
  /** A token that is good for some time to come. */
  readonly token: () => Promise<Fetched<string>>;
  /** This token was refused, or the key it was made with has changed. */
  readonly forget: (token?: string) => void;
};

export type Keeping = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const tokenName = "holdfast-visitor-token";
const visitorName = "holdfast-visitor";
/** A token that is good for less is not used any more. */
const spareMs = 60_000;

type Kept = { readonly token: string; readonly until: number };

/** `mint` asks the server for a token; `tab` and `browser` are where it and the visitor's name are kept. */
export const createVisitor = (
  mint: (body: Fields) => Promise<Fetched<Fields>>,
  tab: Keeping,
  browser: Keeping,
  now: () => number,
): Visitor => {
  let minting: Promise<Fetched<string>> | null = null;

  const make = async (): Promise<Fetched<string>> => {
    const known = browser.getItem(visitorName);
    const answer = await mint(known === null ? {} : { visitor_id: known });
    if (!answer.ok) return answer;
    const kept = {
      token: textIn(answer.value, "token") ?? "",
      until: now() + 1_000 * (numberIn(answer.value, "expires_in") ?? 0),
    };
    tab.setItem(tokenName, JSON.stringify(kept));
    const visitor = textIn(answer.value, "visitor_id");
    if (visitor !== undefined) browser.setItem(visitorName, visitor);
    return { ok: true, value: kept.token };
  };

  return {
    token: async () => {
      const kept = keptIn(tab);
      if (kept !== undefined && kept.until - spareMs > now()) return { ok: true, value: kept.token };
      // One token for all who ask at the same time.
      minting ??= make().finally(() => (minting = null));
      return minting;
    },
    forget: (token) => {
      if (token === undefined || keptIn(tab)?.token === token) tab.removeItem(tokenName);
    },
  };
};

const keptIn = (tab: Keeping): Kept | undefined => {
  const value = parseJson(tab.getItem(tokenName) ?? "");
  if (!isFields(value)) return undefined;
  const [token, until] = [textIn(value, "token"), numberIn(value, "until")];
  return token === undefined || until === undefined ? undefined : { token, until };
};
