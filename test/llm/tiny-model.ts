// A model of the llama architecture, small enough to be made in a moment and to run anywhere: its weights are constructed so
// that what it says is known beforehand. Its layers compute with small random weights, as any model's do, and change nothing.
import { gguf, type GgufTensor, type GgufValue } from "./gguf.ts";

const LAYERS = 2;
const WIDTH = 64;
const HEADS = 4;
const FEED_FORWARD = 128;
const CONTEXT = 4096;
/** Numbers in the answer to a question that ends in a full stop. */
const LAST_NUMBER = 239;

/** The kinds of tokens, by the format's numbers. */
const kinds = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

interface Token {
  readonly text: string;
  readonly kind: number;
}

const hex = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
const numbers = Array.from({ length: LAST_NUMBER + 1 }, (_, index) => `\u2581${index}`);
const words = ["\u2581", ...numbers, "\u2581tick", "\u2581tock"];
const END = "</s>";
const tokens: readonly Token[] = [
  { text: "<unk>", kind: kinds.unknown },
  { text: "<s>", kind: kinds.control },
  { text: END, kind: kinds.control },
  ...Array.from({ length: 256 }, (_, byte) => ({ text: hex(byte), kind: kinds.byte })),
  ...words.map((text) => ({ text, kind: kinds.normal })),
];
const ids = new Map(tokens.map(({ text }, id) => [text, id]));

/** The bytes of this word are tokens of their own, so that a character comes in three steps. */
const foreign = [...new TextEncoder().encode("\u4e16")].map(hex);

/** What follows what. A prompt that ends in "." counts to the end; one that ends in "!" goes on for ever. */
const chains: readonly (readonly string[])[] = [
  [hex(0x2e), ...numbers.slice(0, 100), ...foreign, ...numbers.slice(100), END],
  [hex(0x21), "\u2581tick", "\u2581tock", "\u2581tick"],
];

/** The whole answer to a prompt that ends in a full stop, and the number of its tokens. */
export const counted = {
  text: [...numbers.slice(0, 100), "\u4e16", ...numbers.slice(100)].join("").replaceAll("\u2581", " "),
  tokens: numbers.length + foreign.length,
};

/** The model as a GGUF file. */
export function tinyModel(): Uint8Array {
  const random = normalRandom(20_240_607);
  const matrix = (columns: number, rows: number, scale: number): Float32Array =>
    Float32Array.from({ length: columns * rows }, () => random() * scale);
  const ones = (): Float32Array => new Float32Array(WIDTH).fill(1);

  // Random directions are nearly at right angles: the row that is like the last token's direction wins by far.
  const embedding = matrix(WIDTH, tokens.length, 1 / Math.sqrt(WIDTH));
  const output = new Float32Array(embedding.length);
  for (const chain of chains) {
    for (const [step, text] of chain.entries()) {
      const next = chain[step + 1];
      if (next === undefined) continue;
      const [from, to] = [rowOf(text), rowOf(next)];
      for (let at = 0; at < WIDTH; at++) output[to + at] = (output[to + at] ?? 0) + (embedding[from + at] ?? 0);
    }
  }

  const small = 0.1 / Math.sqrt(WIDTH);
  const tensors: GgufTensor[] = [
    { name: "token_embd.weight", dimensions: [WIDTH, tokens.length], values: embedding },
    { name: "output_norm.weight", dimensions: [WIDTH], values: ones() },
    { name: "output.weight", dimensions: [WIDTH, tokens.length], values: output },
  ];
  for (let layer = 0; layer < LAYERS; layer++) {
    const add = (name: string, dimensions: readonly number[], values: Float32Array): void => {
      tensors.push({ name: `blk.${layer}.${name}.weight`, dimensions, values });
    };
    add("attn_norm", [WIDTH], ones());
    for (const name of ["attn_q", "attn_k", "attn_v", "attn_output"])
      add(name, [WIDTH, WIDTH], matrix(WIDTH, WIDTH, small));
    add("ffn_norm", [WIDTH], ones());
    for (const name of ["ffn_gate", "ffn_up"]) add(name, [WIDTH, FEED_FORWARD], matrix(WIDTH, FEED_FORWARD, small));
    add("ffn_down", [FEED_FORWARD, WIDTH], matrix(FEED_FORWARD, WIDTH, small));
  }
  return gguf(header(), tensors);
}

function header(): Record<string, GgufValue> {
  const count = (value: number): GgufValue => ({ type: "uint32", value });
  return {
    "general.architecture": { type: "string", value: "llama" },
    "general.name": { type: "string", value: "tiny" },
    "llama.context_length": count(CONTEXT),
    "llama.embedding_length": count(WIDTH),
    "llama.block_count": count(LAYERS),
    "llama.feed_forward_length": count(FEED_FORWARD),
    "llama.attention.head_count": count(HEADS),
    "llama.attention.head_count_kv": count(HEADS),
    "llama.rope.dimension_count": count(WIDTH / HEADS),
    "llama.attention.layer_norm_rms_epsilon": { type: "float32", value: 1e-5 },
    "llama.vocab_size": count(tokens.length),
    "tokenizer.ggml.model": { type: "string", value: "llama" },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens.map(({ text }) => text) },
    "tokenizer.ggml.scores": { type: "float32s", value: tokens.map((_, id) => -id) },
    "tokenizer.ggml.token_type": { type: "int32s", value: tokens.map(({ kind }) => kind) },
    "tokenizer.ggml.unknown_token_id": count(0),
    "tokenizer.ggml.bos_token_id": count(1),
    "tokenizer.ggml.eos_token_id": count(2),
    "tokenizer.ggml.add_space_prefix": { type: "bool", value: false },
  };
}

/** Where the token's row begins in a matrix. */
function rowOf(text: string): number {
  const id = ids.get(text);
  if (id === undefined) throw new Error(`${text} is no token`);
  return id * WIDTH;
}

/** Seeded, with mean 0 and deviation 1: Mulberry32 through the transform of Box and Muller. */
function normalRandom(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 1) / (2 ** 32 + 1);
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
