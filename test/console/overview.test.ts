// The overview of people who work, and the use of a template on its page.
import { expect } from "chai";
import { expectAccessible } from "../support/accessibility.js";
import { withTimeLeft } from "../support/clock.js";
import { consoleTests, echoDocument, importedTemplate } from "../support/console.js";
import { newId } from "../support/ids.js";
import { eventually } from "../support/watchers.js";

describe("the overview of the console", () => {
  const console = consoleTests();
  const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";

  it("shows own workspaces with their actions, by keyboard", async () => {
    const { world, page, openAs, heading, button, main } = console();
    const [ada, eve] = await world.users("ada", "eve");
    const templateId = await importedTemplate(world, "daily", echoDocument());
    await world.as(ada!).graphql(create, { input: { name: "mine", templateId } });
    await world.as(eve!).graphql(create, { input: { name: "hers", templateId } });
    await openAs(ada!, "/");
    await heading(`Hello, ${ada!.username}`);
    const own = main().locator(".panel", { hasText: "Your workspaces" });
    await own.getByText("Running").waitFor();
    expect(await own.getByRole("link", { name: "hers" }).count()).to.equal(0);
    await button("Stop mine").focus();
    await page.keyboard.press("Enter");
    await own.getByText("Stopped").waitFor();
    await button("Start mine").press("Enter");
    await own.getByText("Running").waitFor();
    await own.getByRole("link", { name: "mine" }).press("Enter");
    await heading("mine");
  });

  it("has nothing of that for those who have nothing", async () => {
    const { world, page, openAs, heading } = console();
    const person = await world.user("idle");
    await openAs(person, "/");
    await heading(`Hello, ${person.username}`);
    await page.waitForLoadState("networkidle");
    expect(await page.getByText("Your workspaces").count()).to.equal(0);
  });

  it("shows administrators which templates are used most, and what AI costs, against budgets", async () => {
    const { world, page, asOwner, openAs, heading, main } = console();
    const [ada, bob] = await world.users("ada", "bob");
    const owner = world.as(world.owner);
    const templateId = await importedTemplate(world, "popular", echoDocument());
    for (const name of ["one", "two", "three"]) await world.as(ada!).graphql(create, { input: { name, templateId } });
    const group = await world.group(undefined, { members: [ada!] });
    await owner.put(`/api/v2/groups/${group.id}/ai/budget`, { spend_limit_micros: 2_000_000 });
    // Of one month, which ends with a day.
    await withTimeLeft(86_400_000, 60_000);
    const entries = [ada!, bob!].map(({ id }) => ({ id: newId(), userId: id, amountMicros: 2_500_000 }));
    await owner.graphql(
      `mutation($entries: [AiUsageEntryInput!]!) { recordAiUsage(input: { entries: $entries }) { recorded } }`,
      { entries },
    );
    await asOwner("/");
    const panel = (name: string) => main().getByRole("region", { name, exact: true });
    const spending = panel("AI spending of the organization");
    await spending.getByText("5.00 this month by 2 users, of whom one has spent the budget").waitFor();
    await spending.getByRole("listitem").filter({ hasText: ada!.username }).getByText("2.50 of 2.00").waitFor();
    expect(
      await spending.getByRole("listitem").filter({ hasText: bob!.username }).getByRole("progressbar").count(),
    ).to.equal(0);
    await expectAccessible(page, "the overview of an administrator");
    await spending.getByRole("link", { name: new RegExp(ada!.username) }).press("Enter");
    await heading(ada!.username);

    await asOwner("/");
    const used = panel("Most used templates").getByRole("listitem").filter({ hasText: "popular" });
    await used.getByRole("link", { name: "3 workspaces" }).waitFor();
    await used.getByRole("link", { name: "popular" }).press("Enter");
    await heading("popular");

    await openAs(ada!, "/");
    await heading(`Hello, ${ada!.username}`);
    await page.waitForLoadState("networkidle");
    for (const name of ["Most used templates", "AI spending of the organization"])
      expect(await panel(name).count()).to.equal(0);
  });

  it("has on the page of a template how it is used, and what failed", async () => {
    const { world, asOwner, heading, main } = console();
    const templateId = await importedTemplate(world, "used", echoDocument());
    const person = await world.user("user");
    const { createWorkspace } = await world.as(person).graphql(create, { input: { name: "fine", templateId } });
    const status = `{ workspace(id: "${createWorkspace.workspace.id}") { status } }`;
    await eventually(
      async () => (await world.as(person).graphql(status)).workspace.status === "RUNNING",
      "the workspace",
      20_000,
    );
    await asOwner(`/templates/${templateId}`);
    await heading("used");
    const use = main().locator(".panel", { hasText: "A start takes" });
    const valueOf = (name: string) => use.locator("dl > div", { hasText: name }).locator("dd");
    expect(await valueOf("Running").innerText()).to.equal("1");
    expect(await valueOf("Latest build failed").innerText()).to.equal("0");
    expect(await valueOf("A start takes").innerText()).to.match(
      /^(less than a second|\d+ seconds?)(, at most \d+ seconds?)?$/,
    );
  });
});
