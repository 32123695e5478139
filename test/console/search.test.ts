// The search over everything, by keyboard alone.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { Result } from "axe-core";
import { consoleTests, importedTemplate, echoDocument } from "../support/console.js";

const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

describe("the search of the console", () => {
  const console = consoleTests();

  const dialog = () => console().page.getByRole("dialog", { name: "Search" });
  const box = () => dialog().getByRole("combobox");
  const options = () => dialog().getByRole("option").allInnerTexts();
  const active = () => dialog().getByRole("option", { selected: true });
  const option = (name: string | RegExp) => dialog().getByRole("option", { name }).first();
  const isFocused = async () => expect(await box().evaluate((it) => it.ownerDocument.activeElement === it)).to.be.true;

  it("opens by Ctrl+K and by a slash, and closes by Escape where one was", async () => {
    const { page, asOwner, heading } = console();
    await asOwner("/users");
    await heading("Users");
    const search = page.getByRole("searchbox").first();
    await search.focus();
    await page.keyboard.type("a/b");
    expect(await search.inputValue(), "a slash in a field is typed").to.equal("a/b");
    await page.keyboard.press("Control+k");
    await isFocused();
    await Promise.all([page.keyboard.press("Escape"), page.keyboard.press("Control+k")]);
    await page.keyboard.type("again");
    expect(await box().inputValue()).to.equal("again");
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    expect(await search.evaluate((it) => it.ownerDocument.activeElement === it)).to.equal(true);

    await page.getByRole("button", { name: "Create a user" }).focus();
    await page.keyboard.press("/");
    await isFocused();
    expect(await box().inputValue()).to.equal("");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Create a user" }).waitFor();
    await page.keyboard.press("Control+k");
    expect(await page.getByRole("dialog").count(), "not above another dialog").to.equal(1);
  });

  it("finds pages and objects, and opens the chosen one", async () => {
    const { world, page, asOwner, heading } = console();
    const group = await world.group("kestrel-crew");
    await importedTemplate(world, "kestrel", echoDocument());
    const person = await world.user("kestrel");
    await asOwner("/");
    await heading(/^Hello/);
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("kestrel");
    await option(group.name).waitFor();
    expect(await options()).to.have.length(3);
    expect(await active().innerText()).to.match(/^kestrel\n/);
    expect(await box().getAttribute("aria-activedescendant")).to.equal(await active().getAttribute("id"));
    await page.keyboard.press("ArrowDown");
    expect(await active().innerText()).to.include(person.username);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    expect(await active().innerText(), "around the end").to.include(group.name);
    await page.keyboard.press("Enter");
    await heading(group.name);
    await page.locator("h1:focus").waitFor();

    // A page by its name, before its hits are there.
    await page.keyboard.press("/");
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await heading("Audit log");

    // What was opened comes first.
    await page.keyboard.press("/");
    await option(group.name).waitFor();
    expect((await options()).slice(0, 2).map((text) => text.split("\n")[0])).to.deep.equal(["Audit log", group.name]);
    await page.keyboard.type("no such thing");
    await dialog().getByText("Nothing is found.").waitFor();
    expect(await options()).to.deep.equal([]);
  });

  it("opens the first hit when Enter is pressed before it is there", async () => {
    const { world, page, asOwner, heading } = console();
    const group = await world.group("osprey-crew");
    await asOwner("/");
    await heading(/^Hello/);
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("/");
    await page.keyboard.type("osprey");
    await page.keyboard.press("Enter");
    await heading(group.name);
  });

  it("keeps hits of the text before that contain the new one, and forgets late responses", async () => {
    const { world, page, asOwner, heading } = console();
    for (const name of ["merlin-a", "merlin-b"]) await world.group(name);
    const held: Array<() => Promise<void>> = [];
    let isHeld = false;
    await page.route("**/graphql", async (route) => {
      if (isHeld && route.request().postData()?.includes("Find")) held.push(() => route.continue());
      else await route.continue();
    });
    await asOwner("/");
    await heading(/^Hello/);
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("/");
    await page.keyboard.type("merlin");
    await option("merlin-b").waitFor();
    isHeld = true;
    const asked = page.waitForRequest((request) => !!request.postData()?.includes("merlin-b"));
    await page.keyboard.type("-b");
    expect((await options()).map((text) => text.split("\n")[0])).to.deep.equal(["merlin-b"]);
    await asked;
    isHeld = false;
    for (let nr = 0; nr < 8; nr++) await page.keyboard.press("Backspace");
    await page.keyboard.type("preferences");
    await option("Preferences").waitFor();
    for (const go of held) await go();
    await page.waitForLoadState("networkidle");
    expect((await options()).map((text) => text.split("\n")[0])).to.deep.equal(["Preferences"]);
  });

  it("has for members what they may open", async () => {
    const { world, page, openAs, heading } = console();
    const person = await world.user("sparrow");
    await openAs(person, "/");
    await heading(/^Hello/);
    await page.waitForLoadState("networkidle");
    // With the caller, the console knows what they may open.
    await page.getByRole("button", { name: /^Account of/ }).waitFor();
    await page.keyboard.press("Control+k");
    await option("Preferences").waitFor();
    const names = (await options()).map((text) => text.split("\n")[0]);
    expect(names).to.include.members(["Overview", "Tasks", "Secrets"]);
    expect(names).to.not.include.members(["Audit log"]).and.not.include.members(["Licenses"]);
    await page.keyboard.type("sparrow");
    await option(person.username).waitFor();
    expect(await options()).to.have.length(1);
  });

  it("keeps the rules of axe in light, in the dark, and at 360 pixels", async () => {
    const { world, page, visit, asOwner, heading } = console();
    await world.group("x".repeat(32));
    const session = await visit.newCDPSession(page);
    await asOwner("/");
    await heading(/^Hello/);
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("/");
    await page.keyboard.type("xx");
    await option("xxx").waitFor();
    await session.send("Runtime.evaluate", { expression: axe });
    for (const [scheme, width] of [
      ["light", 1280],
      ["dark", 1280],
      ["light", 360],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      const { result } = await session.send("Runtime.evaluate", {
        expression: "axe.run().then(({ violations }) => JSON.stringify(violations))",
        awaitPromise: true,
        returnByValue: true,
      });
      const violations = (JSON.parse(result.value as string) as Result[]).map(({ id, nodes }) => [
        id,
        nodes.map(({ html }) => html),
      ]);
      expect(violations, `${scheme} ${width}`).to.deep.equal([]);
      if (process.env.STEWARD_TEST_PICTURES)
        await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/search-${scheme}-${width}.png` });
    }
  });
});
