// Compresses a body piece by piece, as a flushing proxy does: each piece can be inflated as soon as it has arrived, which
// a one-shot gzip of the whole body cannot show. It never buffers across pieces.
import { Buffer } from "node:buffer";
import { constants, crc32, deflateRawSync } from "node:zlib";

const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
/** A final, empty deflate block. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** One gzip member in as many pieces as the input has, plus the trailer as the last piece. */
export function gzipPieces(pieces: readonly Uint8Array[]): Uint8Array[] {
  const compressed = pieces.map((piece) => deflateRawSync(piece, { finishFlush: constants.Z_SYNC_FLUSH }));
  const [first = Buffer.alloc(0), ...others] = compressed;
  const whole = Buffer.concat(pieces);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(whole), 0);
  trailer.writeUInt32LE(whole.length % 2 ** 32, 4);
  return [Buffer.concat([HEADER, first]), ...others, Buffer.concat([LAST_BLOCK, trailer])];
}
