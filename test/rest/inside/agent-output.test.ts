// The reader of the files that commands write their output to.
// Looks inside: the reader is called between two writes of a command, which is a matter of timing from outside.
import { appendFile, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { OutputFile } from "../../../clients/agent/output.js";

describe("the output file of a command", () => {
  const mebibyte = 1024 ** 2;
  let directory: string;
  let path: string;
  let lines: string[];
  let file: OutputFile;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "output-"));
    path = join(directory, "output");
    lines = [];
    file = new OutputFile(path, (line) => lines.push(line));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const append = (text: string) => appendFile(path, text);
  const size = async () => (await stat(path)).size;

  it("is not emptied between the writes of a burst, of which the last line is read", async () => {
    await append("padding\n".repeat((9 * mebibyte) / 8));
    await file.step();
    expect(await size()).to.equal(9 * mebibyte);
    await append("last\n");
    await file.step();
    expect(await size()).to.equal(9 * mebibyte + 5);
    await file.step();
    expect(lines.at(-1)).to.equal("last");
    expect(lines.filter((line) => line.includes("left out"))).to.have.length(1);
    expect(await size()).to.equal(0);
  });

  it("is not emptied in the same step that reads its end, since the command may be writing", async () => {
    await append("padding\n".repeat(mebibyte / 8));
    while (file.offset < mebibyte) await file.step();
    await append("one more\n");
    await file.step();
    expect(lines.at(-1)).to.equal("one more");
    expect(await size()).to.be.greaterThan(mebibyte);
    expect(await file.step()).to.equal(true);
    expect([await size(), file.offset]).to.deep.equal([0, 0]);
    expect(await file.step()).to.equal(false);
  });

  it("is emptied although it always grows, once it is too large", async () => {
    const padding = "padding\n".repeat(mebibyte);
    for (let count = 0; count < 5; count += 1) {
      await append(padding);
      await file.step();
    }
    expect(await size()).to.equal(0);
    await append("last\n");
    await file.finish();
    expect(lines.at(-1)).to.equal("last");
  });
});
