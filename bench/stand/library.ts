// Documents to search: 10,000 sections of made-up words, as frequent as the words of a language are, and questions about them. The same at every call.

export interface Section {
  heading: string;
  text: string;
}

export interface Question {
  text: string;
  /** What of it is looked for. */
  terms: readonly string[];
}

export interface Library {
  /** Markdown by path. */
  readonly documents: readonly { path: string; content: string }[];
  readonly sections: readonly Section[];
  readonly questions: readonly Question[];
}

const DOCUMENTS = 200;
const SECTIONS = 50;
const QUESTIONS = 100;
const WORDS = 20_000;
/** UTF-8 bytes of a section, about. */
const SECTION_BYTES = 520;

export function libraryOf(): Library {
  const random = randomOf(7);
  const vocabulary = [...new Set(Array.from({ length: WORDS }, () => wordOf(random)))];
  // The nth word comes with a frequency of about 1/n.
  const word = (): string => vocabulary[Math.floor(vocabulary.length ** random()) - 1] ?? "word";
  const some = (count: number): string[] => Array.from({ length: count }, word);
  const sectionOf = (): Section => {
    const sentences: string[] = [];
    for (let bytes = 0; bytes < SECTION_BYTES;) {
      const sentence = `${some(12).join(" ")}.`;
      sentences.push(sentence);
      bytes += sentence.length + 1;
    }
    return { heading: some(3).join(" "), text: sentences.join("\n") };
  };
  const sections = Array.from({ length: DOCUMENTS * SECTIONS }, sectionOf);
  const documents = Array.from({ length: DOCUMENTS }, (_, index) => ({
    path: `part-${index}.md`,
    content: sections
      .slice(index * SECTIONS, (index + 1) * SECTIONS)
      .map(({ heading, text }) => `# ${heading}\n\n${text}\n`)
      .join("\n"),
  }));
  const questions = Array.from({ length: QUESTIONS }, () => {
    const { text } = sections[Math.floor(random() * sections.length)] ?? { text: "" };
    const words = text.split(/[^a-z]+/).filter((one) => one !== "");
    const terms = [...new Set(Array.from({ length: 5 }, () => words[Math.floor(random() * words.length)] ?? ""))];
    return { text: `What is the ${terms.join(" of the ")}?`, terms };
  });
  return { documents, sections, questions };
}

/** A linear congruential generator, 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function wordOf(random: () => number): string {
  const pick = (letters: string): string => letters.charAt(Math.floor(random() * letters.length));
  const syllables = 2 + Math.floor(random() * 3);
  return Array.from({ length: syllables }, () => pick("bdfgklmnprstvz") + pick("aeiou")).join("") + pick("lnrst");
}
