// The tools that this page offers to a model and carries out itself. It touches nothing but the page's own look.
import { type Fields, textIn } from "../fields.ts";

export type PageTool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input object. */
  readonly parameters: Fields;
  /** A person must agree before each call. */
  readonly confirmation?: "required";
};

export const accentColors = ["violet", "amber", "rose", "teal"] as const;

export const pageTools: readonly PageTool[] = [
  {
    name: "get_local_time",
    description: "The date, the time and the time zone where the user is.",
    parameters: { type: "object", properties: {} },
  },
  {
    name: "change_accent_color",
    description: "Changes the color of buttons and links on the user's page.",
    parameters: {
      type: "object",
      properties: { color: { type: "string", enum: accentColors } },
      required: ["color"],
    },
    confirmation: "required",
  },
];

export const asksFirst = (toolName: string): boolean =>
  pageTools.some(({ name, confirmation }) => name === toolName && confirmation === "required");

/** What the page itself can do for a tool. */
export type PageMeans = {
  readonly now: () => Date;
  readonly setAccent: (color: string) => void;
};

/** The output of a call; one that cannot be carried out says why. */
export const runPageTool = (name: string, input: Fields, { now, setAccent }: PageMeans): Fields => {
  switch (name) {
    case "get_local_time": {
      const date = now();
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      return { localTime: date.toLocaleString("en-GB", { dateStyle: "full", timeStyle: "short" }), timeZone };
    }
    case "change_accent_color": {
      const color = textIn(input, "color") ?? "";
      if (!accentColors.some((known) => known === color)) {
        return { success: false, error: `The page knows the colors ${accentColors.join(", ")}.` };
      }
      setAccent(color);
      return { success: true, color };
    }
    default:
      return { success: false, error: `This page has no tool ${name}.` };
  }
};

/** What a person's no is told to the model as: the words that a server uses for its own tools. */
export const deniedOutput: Fields = {
  success: false,
  denied: true,
  error: "The user denied this action and it was not executed.",
};
