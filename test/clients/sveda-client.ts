// A Sveda chat client that behaves as the published one is described to: what it sends, how it reads lines, what it does at each kind of end.
// It knows nothing of runs, ids or resuming.

export type Part = Record<string, unknown>;

export interface ChatMessage {
  id: string;
  role: "user" | "assistant" | "tool";
  content: string;
  parts: Part[];
}

export interface ClientTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  handler: (input: Record<string, unknown>) => unknown;
}

export interface SvedaClientOptions {
  endpoint: string;
  headers: Record<string, string>;
  tools?: readonly ClientTool[];
  context?: Record<string, unknown>;
}

type Event = Record<string, unknown>;

export class SvedaSession {
  chatId: string = crypto.randomUUID();
  messages: ChatMessage[] = [];
  status: "idle" | "streaming" | "error" = "idle";
  title: string | undefined;
  maxSteps = false;
  finishReason: string | undefined;
  errors: { code: unknown; message: unknown }[] = [];
  /** Each status that the session went through. */
  readonly statuses: string[] = [];
  #options: SvedaClientOptions;
  #abort: AbortController | undefined;
  #current: ChatMessage | undefined;

  constructor(options: SvedaClientOptions) {
    this.#options = options;
  }

  async send(text: string): Promise<void> {
    this.messages.push({ id: crypto.randomUUID(), role: "user", content: text, parts: [{ type: "text", text }] });
    await this.#post({ prompt: text });
  }

  /** Nothing but another turn: the last message is the answer so far. */
  async continueAfterMaxSteps(): Promise<void> {
    this.maxSteps = false;
    await this.#post({ prompt: "Continue" });
  }

  async resolveToolConfirmation(toolCallId: string, decision: "approve" | "deny"): Promise<void> {
    await this.#post({ prompt: "", toolDecisions: [{ toolCallId, decision }] });
  }

  stop(): void {
    this.#abort?.abort();
  }

  /** The text of the last answer. */
  get answer(): string {
    return this.messages.findLast(({ role }) => role === "assistant")?.content ?? "";
  }

  async #post(fields: Record<string, unknown>): Promise<void> {
    const { endpoint, headers, tools = [], context = {} } = this.#options;
    this.#abort = new AbortController();
    this.#current = undefined;
    this.#become("streaming");
    const known = this.messages.length;
    try {
      const response = await fetch(endpoint, {
        method: "POST",
        headers: { accept: "application/vnd.sveda.stream+json", "content-type": "application/json", ...headers },
        body: JSON.stringify({
          messages: this.messages.map(asSent),
          chatId: this.chatId,
          context,
          clientTools: tools.map(({ handler: _handler, ...tool }) => tool),
          ...fields,
        }),
        signal: this.#abort.signal,
      });
      if (!response.ok) throw new Error(`[sveda] Stream request failed: ${response.status}`);
      await this.#read(response);
    } catch (error) {
      if (!this.#abort.signal.aborted) {
        this.#become("error");
        throw error;
      }
    }
    this.#become("idle");
    await this.#submitToolResults(known);
  }

  /** Line by line: what is no whole data line of JSON is passed over. */
  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of response.body ?? []) {
      rest += decoder.decode(bytes, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#line(line.replace(/\r$/, ""));
      if (this.#abort?.signal.aborted === true) return;
    }
  }

  #line(line: string): void {
    if (!line.startsWith("data:")) return;
    const data = line.slice(5).trim();
    if (data === "[DONE]") return;
    try {
      const event: Event = JSON.parse(data);
      this.#apply(event);
    } catch {
      // A line that is not JSON is lost.
    }
  }

  #apply(event: Event): void {
    switch (event["type"]) {
      case "message.start":
        if (typeof event["chatId"] === "string") this.chatId = event["chatId"];
        this.#begin(typeof event["messageId"] === "string" ? event["messageId"] : crypto.randomUUID());
        return;
      case "text.delta": {
        const message = this.#open();
        message.content += String(event["delta"]);
        addText(message, "text", String(event["delta"]));
        return;
      }
      case "reasoning.delta":
        addText(this.#open(), "reasoning", String(event["delta"]));
        return;
      case "tool.call": {
        const { toolCallId, toolName, target, input, confirmation } = event;
        this.#open().parts.push({
          type: "tool-call",
          toolCallId,
          toolName,
          target,
          input,
          ...(confirmation !== undefined && { confirmation }),
        });
        return;
      }
      case "tool.result": {
        const { toolCallId, toolName, output, renderHint, renderData } = event;
        const part = { type: "tool-result", toolCallId, toolName, output, renderHint, renderData };
        this.messages.find((message) => callOf(message, toolCallId) !== undefined)?.parts.push(part);
        return;
      }
      case "chat.title":
        this.title = String(event["title"]);
        return;
      case "max_steps":
        this.maxSteps = event["canContinue"] === true;
        return;
      case "message.end":
        this.finishReason = String(event["finishReason"]);
        return;
      case "error":
        this.errors.push({ code: event["code"], message: event["message"] });
        this.#become("error");
        this.#abort?.abort();
    }
  }

  #begin(id: string): ChatMessage {
    const message: ChatMessage = { id, role: "assistant", content: "", parts: [] };
    this.messages.push(message);
    this.#current = message;
    return message;
  }

  #open(): ChatMessage {
    return this.#current ?? this.#begin(crypto.randomUUID());
  }

  /** The calls that this turn made of the page's own tools are carried out, and the results sent as a turn of their own. */
  async #submitToolResults(known: number): Promise<void> {
    const { tools = [] } = this.#options;
    const calls = this.messages
      .slice(known)
      .flatMap(({ parts }) => parts)
      .filter((part) => part["type"] === "tool-call" && part["target"] === "frontend");
    if (calls.length === 0) return;
    for (const { toolCallId, toolName, input } of calls) {
      const tool = tools.find(({ name }) => name === toolName);
      const output = await tool?.handler(Object(input));
      const part = { type: "tool-result", toolCallId, toolName, output };
      this.messages.push({ id: crypto.randomUUID(), role: "tool", content: "", parts: [part] });
    }
    await this.#post({ prompt: "tool_results" });
  }

  #become(status: SvedaSession["status"]): void {
    this.status = status;
    this.statuses.push(status);
  }
}

/** An answer that did not think is sent with a filler in front. */
function asSent(message: ChatMessage): ChatMessage {
  if (message.role !== "assistant" || message.parts.some(({ type }) => type === "reasoning")) return message;
  return { ...message, parts: [{ type: "reasoning", text: "." }, ...message.parts] };
}

function addText({ parts }: ChatMessage, type: "text" | "reasoning", delta: string): void {
  const last = parts.at(-1);
  if (last?.["type"] === type) last["text"] = `${String(last["text"])}${delta}`;
  else parts.push({ type, text: delta });
}

const callOf = ({ parts }: ChatMessage, toolCallId: unknown): Part | undefined =>
  parts.find((part) => part["type"] === "tool-call" && part["toolCallId"] === toolCallId);
