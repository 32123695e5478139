import { expect } from "chai";
import { plainText } from "../src/domain/notifications/plaintext.js";

describe("markdown as plain text", () => {
  const cases: Array<[what: string, markdown: string, text: string]> = [
    ["removes emphasis", "**Hello** *world*, ~~not~~ __now__ ***both***", "Hello world, not now both"],
    ["keeps underscores inside of words", "snake_case_name and *a_b*", "snake_case_name and a_b"],
    ["keeps marks that mark nothing", "5 * 3 ** 2, ~tilde~, a] [b", "5 * 3 ** 2, ~tilde~, a] [b"],
    ["writes links as text and url", 'see [the *docs*](https://a.b/c "title")', "see the docs (https://a.b/c)"],
    ["writes images like links", "![alt](http://x/y.png)", "alt (http://x/y.png)"],
    ["writes a url once", "[https://a.b](https://a.b) <https://c.d>", "https://a.b https://c.d"],
    ["keeps parentheses of a url", "[x](https://a.b/c_(d)) y", "x (https://a.b/c_(d)) y"],
    ["takes escaped marks literally", "\\[x\\](javascript:1)\\<b\\> \\*a\\*", "[x](javascript:1)<b> *a*"],
    ["keeps raw HTML literal", "<b>bold</b>", "<b>bold</b>"],
    ["keeps code as it is", "`a *b*` and `` ` ``", "a *b* and `"],
    ["takes fences away, not what they hold", "```js\nlet *a* = 1;\n```\ndone", "let *a* = 1;\ndone"],
    ["removes heading marks", "# One #\n\nTwo\n===\n\n## Three", "One\n\nTwo\n\nThree"],
    ["removes quote marks and rules", "> quoted\n> *twice*\n\n---\n\nend", "quoted\ntwice\n\nend"],
    ["spells bullets alike", "* one\n+ two\n  - three\n1. four", "- one\n- two\n  - three\n1. four"],
    ["does not mark across paragraphs", "*one\n\ntwo*", "*one\n\ntwo*"],
    ["lets a backslash end a line", "one\\\ntwo", "one\ntwo"],
    ["has nothing to say about nothing", "", ""],
  ];
  for (const [what, markdown, text] of cases) it(what, () => expect(plainText(markdown)).to.equal(text));

  it("reads 64 KiB of hostile marks in a moment", function () {
    this.timeout(10_000);
    const patterns = [
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
    ];
    for (const pattern of patterns) {
      const markdown = pattern.repeat(65_536 / pattern.length);
      for (const text of [markdown, `[${markdown}](u)`, `x ${markdown}\n`]) expect(plainText(text)).to.be.a("string");
    }
  });
});
