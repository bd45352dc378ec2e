// UTF-8 sizes of JavaScript strings, without encoding them.

/** Bytes `text` takes in UTF-8; a lone surrogate counts as U+FFFD (3 bytes). */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text, index + 1)) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

/** The longest prefix of `text` within `limit` bytes that ends on a whole character. */
export function utf8Prefix(text: string, limit: number): string {
  let bytes = 0;
  let index = 0;
  while (index < text.length) {
    const unit = text.charCodeAt(index);
    const pair = unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text, index + 1);
    const size = unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (bytes + size > limit) break;
    bytes += size;
    index += pair ? 2 : 1;
  }
  return text.slice(0, index);
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit < 0xe000;
}
