// What logs save as files: content, progress, cancellation, and failures on the way.
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { type Console, consoleTests } from "../support/console.js";
import { connect, reported } from "../support/connections.js";
import { newId } from "../support/ids.js";
import { eventually } from "../support/watchers.js";

/** As in browsers in which pages cannot write to files. */
const withoutFiles = "Object.defineProperty(window, 'showSaveFilePicker', { value: undefined })";

/** A file that the user has chosen, which records what is done with it. */
const withFile = `window.file = { writes: [], end: "" };
  window.showSaveFilePicker = async ({ suggestedName }) => {
    window.file.name = suggestedName;
    return { createWritable: async () => ({
      write: async (text) => window.file.writes.push(text),
      close: async () => { window.file.end = "closed"; },
      abort: async () => { window.file.end = "aborted"; },
    }) };
  };`;

interface Saved {
  name: string;
  writes: string[];
  end: string;
}

/** The rest of a log: as many entries on each page, until a page fails. */
interface Pages {
  size: number;
  /** Called before each page with its number, from 0. Throws if it cannot be loaded. */
  before?: (page: number) => Promise<void>;
  count: number;
}

describe("the console saves logs as files", () => {
  const console = consoleTests();

  const fileOf = ({ page }: Console) => page.evaluate("window.file") as Promise<Saved>;
  const linesOf = (text: string) => text.trim().split("\n");

  const download = async ({ page, button }: Console, label: string) => {
    const [saved] = await Promise.all([page.waitForEvent("download"), button(label).click()]);
    return { name: saved.suggestedFilename(), text: await readFile(await saved.path(), "utf8") };
  };

  /** Responds to what exports load with pages of entries that do not exist. */
  const answer = ({ page }: Console, { size, before, count }: Pages) =>
    page.route("**/graphql", async (route) => {
      const { variables } = route.request().postDataJSON() as { variables?: { first?: number; after?: string } };
      if (variables?.first !== 1_000) return route.fallback();
      const at = Number(variables.after ?? 0);
      try {
        await before?.(at);
      } catch {
        const extensions = { code: "UNAVAILABLE", retryAfter: 3 };
        return route.fulfill({ status: 503, json: { errors: [{ message: "Too busy.", extensions }] } });
      }
      const nodes = Array.from({ length: size }, (_, index) => ({ id: String(at * size + index) }));
      const pageInfo = { endCursor: String(at + 1), hasNextPage: at + 1 < count };
      return route.fulfill({ json: { data: { auditEvents: { nodes, pageInfo } } } });
    });

  it("of connections, as CSV and as JSON lines", async () => {
    const c = console();
    const { world } = c;
    const { id, name, agent } = await world.workspace(world.owner);
    await reported(world, agent, connect(newId()), connect(newId(), { type: "VSCODE" }));
    await c.page.addInitScript(withoutFiles);
    await c.asOwner("/connections");
    await c.row(name).first().waitFor();
    // Seconds later, it is not said any more.
    const [csv] = await Promise.all([download(c, "Export CSV"), c.notice("2 entries are saved.")]);
    expect(csv.name).to.equal("connections.csv");
    const [head, ...lines] = linesOf(csv.text);
    expect(head).to.match(/^"id","type","ip","connectTime","agentName","workspaceId"/);
    expect(lines).to.have.length(2);
    for (const line of lines) expect(line).to.include(`"${id}","${name}"`);
    const jsonl = await download(c, "Export JSON lines");
    expect(jsonl.name).to.equal("connections.jsonl");
    const entries = linesOf(jsonl.text).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.map(({ type }) => type)).to.have.members(["SSH", "VSCODE"]);
    for (const entry of entries) expect(entry).to.include({ workspaceId: id, workspaceName: name });
    await c.page.getByLabel("By").selectOption("VSCODE");
    await c.text("1 of 1");
    expect(linesOf((await download(c, "Export JSON lines")).text)).to.have.length(1);
  });

  it("page by page where the browser can, without formulas", async () => {
    const c = console();
    const group = await c.world.group(`saved-${newId().slice(-6)}`);
    await c.page.addInitScript(withFile);
    await c.asOwner("/audit?resource=group");
    await c.row(group.name).waitFor();
    await c.button("Export CSV").click();
    await c.notice(/entr(y is|ies are) saved/);
    const { name, writes, end } = await fileOf(c);
    expect({ name, end }).to.deep.equal({ name: "audit-log.csv", end: "closed" });
    expect(writes.join("")).to.include(`"${group.name}"`);
    await answer(c, { size: 2, count: 3 });
    await c.page.reload();
    await c.button("Export JSON lines").click();
    await c.notice("6 entries are saved.");
    const paged = await fileOf(c);
    expect(paged.writes).to.deep.equal([0, 2, 4].map((at) => `{"id":"${at}"}\n{"id":"${at + 1}"}\n`));
  });

  it("with the number so far, one at a time, until it is canceled", async () => {
    const c = console();
    const held = Promise.withResolvers<void>();
    await answer(c, { size: 1_000, count: 3, before: (page) => (page === 1 ? held.promise : Promise.resolve()) });
    await c.page.addInitScript(withFile);
    await c.asOwner("/audit");
    await c.button("Export CSV").click();
    await c.button("Exporting: 1,000 entries").waitFor();
    expect(await c.button("Exporting: 1,000 entries").isDisabled()).to.equal(true);
    expect(await c.button("Export JSON lines").isDisabled()).to.equal(true);
    await c.button("Cancel").click();
    await c.notice("The export is canceled.");
    await c.button("Cancel").waitFor({ state: "detached" });
    expect(await c.button("Export CSV").isEnabled()).to.equal(true);
    held.resolve();
    await eventually(async () => (await fileOf(c)).end !== "", "the end of the file");
    expect(await fileOf(c)).to.deep.include({ end: "aborted" });
    expect((await fileOf(c)).writes).to.have.length(1);
  });

  for (const [kind, script] of [
    ["in the file", withFile],
    ["as a download", withoutFiles],
  ] as const)
    it(`with what was loaded before a failure, ${kind}`, async () => {
      const c = console();
      const before = (page: number) => (page === 2 ? Promise.reject(new Error()) : Promise.resolve());
      await answer(c, { size: 1_000, count: 3, before });
      await c.page.addInitScript(script);
      await c.asOwner("/audit");
      const saved = async () => {
        if (script === withoutFiles) return (await download(c, "Export JSON lines")).text;
        await c.button("Export JSON lines").click();
        await eventually(async () => (await fileOf(c)).end === "closed", "the end of the file");
        return (await fileOf(c)).writes.join("");
      };
      const notice = "Only the first 2,000 entries are saved. Too busy. Try again in 3 seconds.";
      const [text] = await Promise.all([saved(), c.notice(notice)]);
      expect(linesOf(text)).to.have.length(2_000);
      await c.button("Export JSON lines").waitFor();
    });

  it("with nothing if the first page fails", async () => {
    const c = console();
    await answer(c, { size: 1, count: 1, before: () => Promise.reject(new Error()) });
    await c.page.addInitScript(withFile);
    await c.asOwner("/audit");
    await c.button("Export CSV").click();
    await c.notice("Nothing is saved. Too busy.");
    expect((await fileOf(c)).end).to.equal("aborted");
  });

  it("with at most 100,000 entries, and says so", async () => {
    const c = console();
    await answer(c, { size: 50_000, count: 3 });
    await c.page.addInitScript(withFile);
    await c.asOwner("/audit");
    await c.button("Export CSV").click();
    await c.notice("The first 100,000 entries are saved, which is the most.");
    expect(linesOf((await fileOf(c)).writes.join(""))).to.have.length(100_001);
  });
});
