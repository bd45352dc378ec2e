// JSON objects as they travel. Shapes only.

export type JsonRecord = Record<string, unknown>;
