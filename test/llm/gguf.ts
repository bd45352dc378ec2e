// Writes a model file in the GGUF format, version 3: a header, named values, and tensors of 32-bit floats. It knows no
// architecture and reads nothing back.

export type GgufValue =
  | { readonly type: "uint32"; readonly value: number }
  | { readonly type: "float32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "int32s"; readonly value: readonly number[] }
  | { readonly type: "float32s"; readonly value: readonly number[] }
  | { readonly type: "strings"; readonly value: readonly string[] };

export interface GgufTensor {
  readonly name: string;
  /** Fastest first: a row's length, then the number of rows. */
  readonly dimensions: readonly number[];
  readonly values: Float32Array;
}

const ALIGNMENT = 32;
const VERSION = 3;
/** The format's own numbers of the types. */
const types = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
const FLOAT32_TENSOR = 0;

/** The bytes of a whole file. */
export function gguf(values: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const add = (bytes: Uint8Array): void => {
    pieces.push(bytes);
    length += bytes.length;
  };
  const pad = (): void => add(new Uint8Array(padding(length)));

  add(new TextEncoder().encode("GGUF"));
  add(number(4, (view) => view.setUint32(0, VERSION, true)));
  add(long(tensors.length));
  add(long(Object.keys(values).length));
  for (const [name, value] of Object.entries(values)) {
    add(text(name));
    addValue(add, value);
  }
  let offset = 0;
  for (const { name, dimensions, values: floats } of tensors) {
    add(text(name));
    add(word(dimensions.length));
    for (const dimension of dimensions) add(long(dimension));
    add(word(FLOAT32_TENSOR));
    add(long(offset));
    offset += floats.byteLength + padding(floats.byteLength);
  }
  pad();
  for (const { values: floats } of tensors) {
    // Little-endian, as the file is and as every machine with a prebuilt binary is.
    add(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength));
    pad();
  }
  return joined(pieces, length);
}

function addValue(add: (bytes: Uint8Array) => void, { type, value }: GgufValue): void {
  switch (type) {
    case "uint32":
      add(word(types.uint32));
      return add(word(value));
    case "float32":
      add(word(types.float32));
      return add(float(value));
    case "bool":
      add(word(types.bool));
      return add(Uint8Array.of(value ? 1 : 0));
    case "string":
      add(word(types.string));
      return add(text(value));
    case "int32s":
      return addArray(add, types.int32, value, word);
    case "float32s":
      return addArray(add, types.float32, value, float);
    case "strings":
      return addArray(add, types.string, value, text);
  }
}

function addArray<Item>(
  add: (bytes: Uint8Array) => void,
  type: number,
  items: readonly Item[],
  bytesOf: (item: Item) => Uint8Array,
): void {
  add(word(types.array));
  add(word(type));
  add(long(items.length));
  for (const item of items) add(bytesOf(item));
}

const padding = (length: number): number => (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT;

function number(size: number, set: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(size);
  set(new DataView(bytes.buffer));
  return bytes;
}
const word = (value: number): Uint8Array => number(4, (view) => view.setUint32(0, value, true));
const long = (value: number): Uint8Array => number(8, (view) => view.setBigUint64(0, BigInt(value), true));
const float = (value: number): Uint8Array => number(4, (view) => view.setFloat32(0, value, true));

function text(value: string): Uint8Array {
  const bytes = new TextEncoder().encode(value);
  return joined([long(bytes.length), bytes], 8 + bytes.length);
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
