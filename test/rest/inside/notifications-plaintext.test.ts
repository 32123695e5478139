// Looks inside: a pure function, with a case for each construct of Markdown.
import { expect } from "chai";
import { plainText } from "../../../src/domain/notifications/markdown.js";

describe("markdown as plain text", () => {
  const cases: Array<[what: string, markdown: string, text: string]> = [
    ["removes emphasis", "**Hello** *world*, ~~not~~ __now__ ***both***", "Hello world, not now both"],
    ["keeps underscores inside of words", "snake_case_name and *a_b*", "snake_case_name and a_b"],
    ["keeps markup characters that mark nothing", "5 * 3 ** 2, ~tilde~, a] [b", "5 * 3 ** 2, ~tilde~, a] [b"],
    ["writes links as text and URL", 'see [the *docs*](https://a.b/c "title")', "see the docs (https://a.b/c)"],
    ["writes images like links", "![alt](http://x/y.png)", "alt (http://x/y.png)"],
    ["writes a URL once if it is its own text", "[https://a.b](https://a.b) <https://c.d>", "https://a.b https://c.d"],
    ["keeps parentheses within a URL", "[x](https://a.b/c_(d)) y", "x (https://a.b/c_(d)) y"],
    ["keeps escaped markup literal", "\\[x\\](javascript:1)\\<b\\> \\*a\\*", "[x](javascript:1)<b> *a*"],
    ["keeps raw HTML literal", "<b>bold</b>", "<b>bold</b>"],
    ["keeps code unchanged", "`a *b*` and `` ` ``", "a *b* and `"],
    ["removes code fences, but keeps their content", "```js\nlet *a* = 1;\n```\ndone", "let *a* = 1;\ndone"],
    ["removes heading markers", "# One #\n\nTwo\n===\n\n## Three", "One\n\nTwo\n\nThree"],
    ["removes quote markers and horizontal rules", "> quoted\n> *twice*\n\n---\n\nend", "quoted\ntwice\n\nend"],
    ["normalizes bullets", "* one\n+ two\n  - three\n1. four", "- one\n- two\n  - three\n1. four"],
    ["does not match emphasis across paragraphs", "*one\n\ntwo*", "*one\n\ntwo*"],
    ["treats a trailing backslash as a line break", "one\\\ntwo", "one\ntwo"],
    ["writes an email address once", "<a@b.c> [a@b.c](mailto:a@b.c)", "a@b.c a@b.c"],
    ["resolves reference links", "[docs]\n\n[docs]: http://a.b", "docs (http://a.b)"],
    [
      "keeps links of other schemes and relative links literal",
      "[x](javascript:1) [y](/z)",
      "[x](javascript:1) [y](/z)",
    ],
    ["decodes entities", "&amp; &lt;b&gt;", "& <b>"],
    ["keeps markup characters in indented code", "text\n\n    a *b*\n", "text\n\na *b*"],
    ["indents the content of list items", "3) a\n\n   b\n4) ```\n   c\n   ```\n-", "3) a\n\n   b\n4) c\n-"],
    ["renders empty text as empty text", "", ""],
  ];
  for (const [what, markdown, text] of cases) it(what, () => expect(plainText(markdown)).to.equal(text));

  it("leaves out what is nested too deep", () => {
    expect(plainText("> ".repeat(60) + "deep")).to.equal("deep");
    expect(plainText("![".repeat(20_000) + "](http://a)".repeat(20_000))).to.be.a("string");
  });

  // Each has a time of its own: with quadratic costs, each would take minutes, and together they take long enough.
  describe("of 64 KiB and more is rendered", () => {
    for (const bracket of ["[", "]"])
      it(`if it repeats ${bracket}`, () =>
        expect(plainText(bracket.repeat(262_144))).to.have.lengthOf(262_144)).timeout(20_000);
    for (const pattern of [
      "[",
      "*a ",
      "_a a* ",
      '](a "',
      "`",
      "``` ",
      "![",
      "[![a](",
      "<http:",
      "~~a",
      "[[a](u)",
      "> ",
      "\\",
      "(",
      "# ",
      "[\n",
      "- a\n",
      "a**b*",
      "<![CDATA[",
    ])
      it(`if it repeats ${JSON.stringify(pattern)}`, () => {
        const markdown = pattern.repeat(65_536 / pattern.length);
        for (const text of [markdown, `[${markdown}](u)`, `x ${markdown}\n`]) expect(plainText(text)).to.be.a("string");
      }).timeout(20_000);
  });
});
