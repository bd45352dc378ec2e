// The CRC32 of IEEE 802.3, by table. Pure; knows no format.

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let entry = index;
  for (let bit = 0; bit < 8; bit++) entry = (entry >>> 1) ^ (entry & 1 ? 0xedb88320 : 0);
  return entry;
});

/** Of the bytes from `start` to before `end`; a whole number from 0 to 2^32 - 1. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = 0xffffffff;
  for (let index = start; index < end; index++) {
    crc = (table[(crc ^ (bytes[index] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
