// How tasks are named after their prompts.
// Looks inside: the names of tasks are a pure function of their prompts.
import { expect } from "chai";
import { displayNameFor, nameFor } from "../../src/domain/tasks/task-names.js";
import { faultOf, urlName } from "../../src/domain/kernel/values.js";

const prompts: Array<[prompt: string, slug: string, displayName: string]> = [
  ["Fix the login bug please", "fix-the-login-bug-please", "Fix the login bug please"],
  ["", "task", "task-name"],
  ["   \n\t", "task", "task-name"],
  ["日本語のみ", "task", "日本語のみ"],
  ["one two three four five six seven eight", "one-two-three-four-five-six", "One two three four five six seven eight"],
  ["incomprehensibilities-of-words", "incomprehensibilities-of", "Incomprehensibilities-of-words"],
  ["supercalifragilisticexpialidocious", "task", "Supercalifragilisticexpialidocious"],
  ["new", "new", "New"],
  ["first line\nsecond line", "first-line-second-line", "First line"],
  ["ßtrange", "trange", "ßtrange"],
  [`${"x".repeat(20)} ${"y".repeat(60)}`, "x".repeat(20), `X${"x".repeat(19)} ${"y".repeat(42)}…`],
  ["😀 party", "party", "😀 party"],
];

describe("the names of tasks", () => {
  for (const [prompt, slug, displayName] of prompts)
    it(`derives ${JSON.stringify(prompt.slice(0, 40))}`, () => {
      const name = nameFor(prompt);
      expect(name).to.match(new RegExp(`^${slug}-[0-9a-f]{4}$`));
      expect(faultOf(urlName(32), name)).to.equal(undefined);
      expect(displayNameFor(prompt, "task-name")).to.equal(displayName);
      expect(Array.from(displayName).length).to.be.at.most(64);
    });
});
