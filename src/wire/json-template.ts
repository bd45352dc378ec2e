// Reads JSON texts that differ from an earlier one only inside one string, without parsing them: what a provider sends per token. Takes two thirds of the parsing off such an event; anything else is left to the parser.

export interface JsonTemplate {
  /** The string, when `text` is the learned text but for it; `undefined` when only a parser can tell. */
  match(text: string): string | undefined;
  /** Call when parsing `text` gave nothing but the value of its only `key`. */
  learn(text: string, value: string): void;
}

/** `key`: name of the member that holds the string. */
export function jsonTemplate(key: string): JsonTemplate {
  const member = `"${key}":`;
  let prefix: string | undefined;
  let suffix = "";

  return {
    match(text) {
      if (prefix === undefined || !text.startsWith(prefix)) return undefined;
      const end = text.indexOf('"', prefix.length);
      if (end === -1 || text.length - end !== suffix.length || !text.endsWith(suffix)) return undefined;
      const value = text.slice(prefix.length, end);
      return isPlain(value) ? value : undefined;
    },
    learn(text, value) {
      const at = text.indexOf(member);
      if (at === -1 || text.lastIndexOf(member) !== at || !isPlain(value)) return;
      let begin = at + member.length;
      while (text.charCodeAt(begin) === 32) begin++;
      if (text.charAt(begin) !== '"' || !text.startsWith(`${value}"`, begin + 1)) return;
      prefix = text.slice(0, begin + 1);
      suffix = text.slice(begin + 1 + value.length);
    },
  };
}

/** Not empty, and the same inside a JSON string as outside: no escape, no quote, no control character. */
function isPlain(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c) return false;
  }
  return value !== "";
}
