// Strings in which everything that could end a line or a frame is frequent.
import fc from "fast-check";

export const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(
      fc.constantFrom(
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\u2028",
        "\u2029",
        "\u0085",
        "\0",
        "\uFEFF",
        "\uD800",
        '"',
        "\\",
        "data: ",
        "id: 9",
        "</script>",
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join("")),
);
