// Columns of text for a terminal. Pure.

/** Rows under a header, each column as wide as its widest cell. */
export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(...[header, ...rows].map((row) => (row[column] ?? "").length), title.length),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}
