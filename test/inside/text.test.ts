// Looks inside: pure functions, whose texts of every kind would take a request each.
import { expect } from "chai";
import { isUuid, textProblem, utcMoment } from "../../src/runtime/text.js";
import {
  emailAddress,
  faultOf,
  icon,
  label,
  urlName,
  prose,
  httpUrl,
  type Value,
} from "../../src/domain/kernel/values.js";
import { randomText } from "../../src/runtime/random.js";
import { groupName } from "../../src/domain/groups/groups.js";
import { realName } from "../../src/domain/users/names.js";

type Problem = (text: string) => string | undefined;

const rule =
  (value: Value<string>): Problem =>
  (text) =>
    faultOf(value, text);

/** Checks a rule against valid and invalid texts; the problem is reported as a sentence. */
const holds = (problem: Problem, good: string[], bad: string[]) => () => {
  for (const text of good) expect(problem(text), JSON.stringify(text)).to.equal(undefined);
  for (const text of bad) expect(problem(text), JSON.stringify(text)).to.match(/^[A-Z].*\.$/);
};

const untext = ["a\0b", "a\ud800b", "\udc00"];
const hostile = [
  "http://a.example.com/\n",
  "javascript:alert(1)",
  "data:text/html,x",
  "//evil.example.com",
  "/\\evil.example.com",
];
const longUrl = (bytes: number) => `https://a.example.com/${"x".repeat(bytes - 22)}`;

describe("text rules", () => {
  it(
    "validates names",
    holds(
      rule(urlName(32)),
      ["a", "A1", "a-b-c", "x".repeat(32), "news"],
      ["", "-a", "a-", "a--b", "a_b", "a b", "é", "a\n", "x".repeat(33), "new", "Create", "ME", "default"],
    ),
  );

  it(
    "validates names of groups",
    holds(
      rule(groupName),
      ["a", "x".repeat(36), "0190b5a2-7c3f-7d11-8a55-3f0c6d1e2b4a", "everyone-else"],
      ["", "x".repeat(37), "Everyone", "EVERYONE", "me", "a b"],
    ),
  );

  it(
    "validates display names",
    holds(
      rule(label(64)),
      ["", "Ops & Co", "ü".repeat(64), "🦊".repeat(64)],
      [" a", "a ", "\ta", "a\u00a0", "x".repeat(65), "🦊".repeat(65), ...untext],
    ),
  );

  it(
    "validates names of people",
    holds(rule(realName), ["", "Ann Lee", "x".repeat(128)], ["x".repeat(129), " Ann", ...untext]),
  );

  it("validates free text", holds(rule(prose(5)), ["", " a\n ", "🦊🦊🦊🦊🦊"], ["123456", ...untext]));

  it("validates any text", holds(textProblem, ["", "a\u0001b", "🦊"], untext));

  it(
    "validates email addresses",
    holds(
      rule(emailAddress),
      [
        "a@b",
        "ann.lee+x@mail.example.com",
        "o'neil@example.com",
        "jürgen@bücher.example",
        `${"a".repeat(242)}@example.com`,
      ],
      [
        "",
        "a",
        "@b",
        "a@",
        "a@b@c",
        "Ann <ann@example.com>",
        "<a@b>",
        "a b@c",
        "a@b c",
        "a@b\n",
        "a,b@c",
        "a..b@c",
        ".a@b",
        "a.@b",
        "a@-b",
        "a@b..c",
        "a@.b",
        `${"a".repeat(243)}@example.com`,
        `${"é".repeat(122)}@example.com`,
        ...untext.map((text) => `${text}@example.com`),
      ],
    ),
  );

  it(
    "validates URLs",
    holds(
      rule(httpUrl),
      ["http://a", "https://a.example.com:8443/x?y=z#w", "HTTPS://a.example.com", "http://[::1]/", longUrl(2048)],
      [
        "",
        "/x",
        "a.example.com",
        "ftp://a",
        "http:a",
        "http://",
        "https://a:b@c",
        "https://a@c",
        "http://a b",
        " http://a",
        "http://a\\b",
        "http://a/\ud800",
        longUrl(2049),
        ...hostile,
      ],
    ),
  );

  it(
    "validates icons and avatars",
    holds(
      rule(icon),
      ["", "/", "/icons/x.svg", "https://a.example.com/x.png"],
      ["x.png", "../x", "/a b", `/${"x".repeat(2048)}`, "/a\0", "ftp://a", ...hostile],
    ),
  );

  it("recognizes UUIDs", () => {
    const id = "0190b5a2-7c3f-7d11-8a55-3f0c6d1e2b4a";
    for (const text of [id, id.toUpperCase()]) expect(isUuid(text)).to.equal(true);
    for (const text of ["", `${id} `, `{${id}}`, id.replaceAll("-", ""), id.replace("a", "g"), `${id}\n`])
      expect(isUuid(text), text).to.equal(false);
  });

  it("parses times", () => {
    const moments = {
      "2026-01-31T08:15:30Z": "2026-01-31T08:15:30.000Z",
      "2026-01-31t08:15:30.1239z": "2026-01-31T08:15:30.123Z",
      "2026-01-31T00:15:30.5+02:00": "2026-01-30T22:15:30.500Z",
      "2028-02-29T00:00:00-00:00": "2028-02-29T00:00:00.000Z",
      "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z",
    };
    for (const [text, utc] of Object.entries(moments)) expect(utcMoment(text), text).to.equal(utc);
    for (const text of [
      "",
      "2026-01-31",
      "2026-02-29T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-01-00T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:00",
      "2026-01-01 00:00:00Z",
      "0000-06-01T00:00:00Z",
      "0001-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59-01:00",
      "2026-01-01T00:00:00Z\n",
    ])
      expect(utcMoment(text), text).to.equal(undefined);
  });
});

describe("random text", () => {
  it("is made of unbiased characters", () => {
    const counts = new Map<string, number>();
    for (const letter of randomText(62_000)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).to.equal(62);
    // Six standard deviations around 1,000; with bytes modulo 62, the first eight characters would occur 1,211 times.
    for (const [letter, count] of counts) expect(count, letter).to.be.within(810, 1190);
  });
});
