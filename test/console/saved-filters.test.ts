// Filters of lists that users save under a name, which their browser keeps.
import { expect } from "chai";
import { type Console, consoleTests } from "../support/console.js";

describe("the console saves filters of lists", () => {
  const console = consoleTests();

  const saved = ({ page }: Console) => page.getByRole("list", { name: "Saved filters" });
  const named = (c: Console, name: string) => saved(c).getByRole("link", { name, exact: true });
  const save = async (c: Console, name: string) => {
    await c.button("Save this filter").click();
    await c.enter("Name", name);
    await c.submit("Save");
    await named(c, name).waitFor();
  };
  const focused = ({ page }: Console): Promise<string> =>
    page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent");

  it("under a name, and applies them after a reload", async () => {
    const c = console();
    const { page } = c;
    await c.asOwner("/users");
    await c.row(c.world.owner.username).waitFor();
    expect(await c.button("Save this filter").count(), "without a filter").to.equal(0);
    await page.getByLabel("Status").selectOption({ label: "Suspended" });
    await page.getByLabel("Search by name or email").fill("nobody");
    await c.text("No user matches.");
    await page.waitForURL(/q=nobody/);
    await save(c, "Gone");
    expect(await focused(c), "the focus").to.equal("Gone");
    expect(await named(c, "Gone").getAttribute("aria-current")).to.equal("true");
    expect(await c.button("Save this filter").count(), "the same twice").to.equal(0);

    await c.link("Clear filters").click();
    await c.row(c.world.owner.username).waitFor();
    await page.reload();
    await named(c, "Gone").click();
    await c.text("No user matches.");
    expect(new URL(page.url()).search).to.equal("?q=nobody&status=SUSPENDED");
    expect(await page.getByLabel("Search by name or email").inputValue()).to.equal("nobody");
    expect(await page.getByLabel("Status").inputValue()).to.equal("SUSPENDED");

    // Each list has its own.
    await c.open("/workspaces?status=RUNNING");
    await c.button("Save this filter").waitFor();
    expect(await saved(c).count()).to.equal(0);
  });

  it("by the keyboard alone, and takes a deletion back", async () => {
    const c = console();
    const { page } = c;
    await c.asOwner("/templates?q=first");
    await c.button("Save this filter").focus();
    await page.keyboard.press("Enter");
    await c.field("Name").waitFor();
    await page.keyboard.type("By keys");
    await page.keyboard.press("Enter");
    await named(c, "By keys").waitFor();
    await c.dialog().waitFor({ state: "detached" });
    await page.keyboard.press("Tab");
    expect(await focused(c)).to.equal("Delete the filter By keys");
    await page.keyboard.press("Enter");
    await saved(c).waitFor({ state: "detached" });
    expect(await focused(c), "the focus after it").to.equal("Clear filters");
    await page.getByRole("button", { name: "Undo" }).click();
    await named(c, "By keys").waitFor();
    await page.reload();
    await named(c, "By keys").waitFor();
  });

  it("for their user only", async () => {
    const c = console();
    const other = await c.world.user("other");
    await c.asOwner("/tasks?status=PAUSED");
    await save(c, "Mine");
    await c.openAs(other, "/tasks?status=PAUSED");
    await c.button("Save this filter").waitFor();
    expect(await saved(c).count()).to.equal(0);
    await save(c, "Theirs");
    await c.asOwner("/tasks");
    await named(c, "Mine").waitFor();
    expect(await named(c, "Theirs").count()).to.equal(0);
  });

  it("in other tabs immediately, without losing what is saved there", async () => {
    const c = console();
    await c.asOwner("/groups?q=one");
    await c.button("Save this filter").waitFor();
    const tab = new (c.constructor as typeof Console)(c.world, c.home, c.visit, await c.visit.newPage());
    await tab.open("/groups?q=two");
    await save(tab, "Two");
    await named(c, "Two").waitFor();
    await save(c, "One");
    await named(tab, "One").waitFor();
    expect(await saved(tab).getByRole("link").allInnerTexts()).to.deep.equal(["Two", "One"]);
  });

  it("of a name that is short, and not used yet", async () => {
    const c = console();
    await c.asOwner("/groups?q=short");
    await save(c, "Short");
    await c.open("/groups?q=shorter");
    await c.button("Save this filter").click();
    const refused = async (name: string, detail: string) => {
      await c.enter("Name", name);
      await c.dialog().getByRole("button", { name: "Save", exact: true }).click();
      await c.dialog().locator(".fault").getByText(detail).waitFor();
    };
    await refused(" ", "Is required.");
    await refused("x".repeat(41), "Must have at most 40 characters.");
    await refused(" Short ", "Is the name of another saved filter.");
  });

  it("at most 20 for a list, whatever its storage contains", async () => {
    const c = console();
    const { page, world } = c;
    const keyOf = (view: string) => `steward.filters ${world.owner.id} ${view}`;
    const store = (view: string, text: string) =>
      page.evaluate(`localStorage.setItem(${JSON.stringify(keyOf(view))}, ${JSON.stringify(text)})`);
    await c.asOwner("/audit?action=LOGIN");
    await c.button("Save this filter").waitFor();
    const broken = [
      "{",
      "null",
      "7",
      '"text"',
      '{"name":"a","search":"b"}',
      '[null,7,"a",{"name":"a"},{"name":1,"search":"q=1"}]',
    ];
    for (const text of broken) {
      await store("/audit", text);
      await page.reload();
      await c.button("Save this filter").waitFor();
      expect(await saved(c).count(), text).to.equal(0);
    }
    await save(c, "Repaired");

    const filter = (name: string, search: string) => ({ name, search });
    const hostile = filter("Elsewhere", '//example.com/?"><script>alert(1)</script>');
    const many = Array.from({ length: 40 }, (_, at) => filter(`Filter ${at}`, `actor=user-${at}`));
    const long = [filter("x".repeat(41), "actor=a"), filter("Long", `actor=${"a".repeat(1_000)}`)];
    await store("/audit", JSON.stringify([hostile, ...long, ...many, ...many]));
    await page.reload();
    await named(c, "Filter 18").waitFor();
    expect(await saved(c).getByRole("link").count()).to.equal(20);
    await page.waitForLoadState("networkidle");
    expect(await c.button("Save this filter").count(), "more than 20").to.equal(0);
    await named(c, "Elsewhere").click();
    await c.heading("Audit log");
    expect(new URL(page.url()).origin + new URL(page.url()).pathname).to.equal(`${c.home}/audit`);
  });

  it("and says so where the browser keeps nothing", async () => {
    const c = console();
    await c.page.addInitScript("Storage.prototype.setItem = () => { throw new Error('The quota is exceeded.'); };");
    await c.asOwner("/groups?q=full");
    await c.button("Save this filter").click();
    await c.enter("Name", "Full");
    await c.dialog().getByRole("button", { name: "Save", exact: true }).click();
    await c.dialog().getByText("this browser keeps nothing for this site").waitFor();
    expect(await saved(c).count()).to.equal(0);
  });
});
