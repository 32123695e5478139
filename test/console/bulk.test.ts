// What is done with several objects together, and what is tried before it is done.
import { expect } from "chai";
import { type Console, consoleTests, echoDocument, importedTemplate } from "../support/console.js";
import { makeScimKey, ScimClient } from "../support/scim.js";

describe("the console handles several objects together", () => {
  const console = consoleTests();

  const select = async ({ page }: Console, ...names: string[]) => {
    for (const name of names) await page.getByRole("checkbox", { name: `Select ${name}`, exact: true }).check();
  };
  const bar = ({ page }: Console, noun: string) => page.getByRole("region", { name: `Selected ${noun}s` });
  const statusOf = async ({ world }: Console, id: string) =>
    (await world.as(world.owner).graphql("query($id: String!) { user(user: $id) { status } }", { id })).user.status;

  it("suspends users after it has named them, and takes it back", async () => {
    const c = console();
    const users = await c.world.users("bulk-a", "bulk-b", "bulk-c");
    await c.asOwner("/users?q=bulk-");
    await c.row(users[0]!.username).waitFor();
    await select(c, users[0]!.username, users[1]!.username);
    await bar(c, "user").getByText("2 users selected").waitFor();
    await bar(c, "user").getByRole("button", { name: "Suspend 2" }).click();
    await c.dialog().getByText(`${users[0]!.username}, ${users[1]!.username}`).waitFor();
    await c.submit("Suspend");
    await c.notice("2 users suspended.");
    for (const user of users.slice(0, 2)) expect(await statusOf(c, user.id)).to.equal("SUSPENDED");
    expect(await statusOf(c, users[2]!.id)).to.equal("ACTIVE");
    await bar(c, "user").waitFor({ state: "detached" });
    await c.page.getByRole("button", { name: "Undo" }).click();
    await c.row(users[0]!.username).getByText("Active").waitFor();
    await c.row(users[1]!.username).getByText("Active").waitFor();
    for (const user of users) expect(await statusOf(c, user.id)).to.equal("ACTIVE");
  });

  it("selects all users of a page by the keyboard, keeps them on the next page, and deletes them", async () => {
    const c = console();
    await c.world.users(...Array.from({ length: 27 }, (_, at) => `gone-${10 + at}`));
    await c.asOwner("/users?q=gone-");
    await c.text("25 of 27");
    await c.page.getByRole("checkbox", { name: "Select all users of the page" }).focus();
    await c.page.keyboard.press("Space");
    await bar(c, "user").getByText("25 users selected").waitFor();
    await c.button("Next").click();
    await c.text("26–27 of 27");
    await bar(c, "user").getByText("25 users selected").waitFor();
    await c.page.getByRole("checkbox", { name: "Select all users of the page" }).check();
    await bar(c, "user").getByRole("button", { name: "Delete 27" }).click();
    await c.submit("Delete");
    await c.notice("27 users deleted.");
    await c.text("No user matches.");
    const left = await c.world.as(c.world.owner).graphql(`{ users(filter: { search: "gone-" }) { totalCount } }`);
    expect(left.users.totalCount).to.equal(0);
  });

  it("says for whom it failed, who stay selected", async () => {
    const c = console();
    const ada = await c.world.user("kept");
    await c.asOwner("/users");
    await c.row(ada.username).waitFor();
    await select(c, c.world.owner.username, ada.username);
    await bar(c, "user").getByRole("button", { name: "Suspend 2" }).click();
    await c.submit("Suspend");
    await c.notice("1 user suspended.");
    await bar(c, "user").getByRole("alert").getByText(c.world.owner.username).waitFor();
    await bar(c, "user").getByText("1 user selected").waitFor();
    expect(await statusOf(c, c.world.owner.id)).to.equal("ACTIVE");
    expect(await statusOf(c, ada.id)).to.equal("SUSPENDED");
    await bar(c, "user").getByRole("button", { name: "Clear" }).click();
    await bar(c, "user").waitFor({ state: "detached" });
  });

  it("does not offer it to those who may not do it", async () => {
    const c = console();
    const auditor = await c.world.user("looking");
    await c.world.grant(auditor, "auditor");
    await c.openAs(auditor, "/users");
    await c.row(auditor.username).waitFor();
    await c.offered();
    expect(await c.page.getByRole("checkbox").count()).to.equal(0);
  });

  it("adds several members to an organization, and removes them with a way back", async () => {
    const c = console();
    const [ada, bob] = await c.world.users("joins-a", "joins-b");
    const { id } = await c.world.organization();
    await c.asOwner(`/organizations/${id}`);
    await c.fill("Add several", { Usernames: `${ada!.username}, no-such-user\n${bob!.username}` }, "Add");
    await c.notice("2 members added.");
    await c.notice(/no-such-user: /);
    await c.row(ada!.username).waitFor();
    await select(c, ada!.username, bob!.username);
    await bar(c, "member").getByRole("button", { name: "Remove 2" }).click();
    await c.submit("Remove");
    await c.notice("2 members removed.");
    await c.text("No member matches.");
    await c.page.getByRole("button", { name: "Undo" }).click();
    await c.row(bob!.username).waitFor();
  });

  it("removes several members of a group", async () => {
    const c = console();
    const members = await c.world.users("grouped-a", "grouped-b", "grouped-c");
    const group = await c.world.group(undefined, { members });
    await c.asOwner(`/groups/${group.id}`);
    await c.row(members[0]!.username).waitFor();
    await select(c, members[0]!.username, members[1]!.username);
    await bar(c, "member").getByRole("button", { name: "Remove 2" }).click();
    await c.notice("2 members removed.");
    await c.row(members[0]!.username).waitFor({ state: "detached" });
    await c.row(members[2]!.username).waitFor();
  });

  it("plans a template version without a workspace, and shows the log", async () => {
    const c = console();
    const parameters = [
      {
        name: "size",
        default: "small",
        options: [
          { name: "Small", value: "small" },
          { name: "Large", value: "large" },
        ],
      },
    ];
    const template = await importedTemplate(c.world, "planned", echoDocument([], { parameters }));
    await c.asOwner(`/templates/${template}`);
    await c.fill("Dry run of v1", { Size: "Large" }, "Plan");
    await c.page.waitForURL(/\/jobs\//);
    await c.main().getByText("Succeeded").first().waitFor();
    const seen = await c.world.as(c.world.owner).graphql("{ workspaces { totalCount } }");
    expect(seen.workspaces.totalCount).to.equal(0);
  });

  it("shows the changes of one SCIM key, and all of them in the audit log", async () => {
    const c = console();
    const first = await makeScimKey(c.world, { name: "First" });
    const second = await makeScimKey(c.world, { name: "Second" });
    for (const [key, userName] of [
      [first, "scim-kim"],
      [second, "scim-lee"],
    ] as const)
      await new ScimClient(c.world.nobody, key.secret).post("/Users", {
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
        userName,
        emails: [{ value: `${userName}@example.com`, primary: true }],
      });
    await c.asOwner("/scim-keys");
    await c.button("Activity of First").click();
    await c
      .row(/scim-kim/, "Changes by First")
      .first()
      .waitFor();
    expect(await c.row(/scim-lee/, "Changes by First").count()).to.equal(0);
    await c.link("All in the audit log").click();
    await c.heading("Audit log");
    await c
      .row(/scim-kim/)
      .first()
      .waitFor();
    expect(await c.row(/scim-lee/).count()).to.equal(0);
    await c
      .main()
      .getByRole("button", { name: /^Not only by the SCIM key/ })
      .click();
    await c
      .row(/scim-lee/)
      .first()
      .waitFor();
  });

  it("shows the counts of days in charts that screen readers can read", async () => {
    const c = console();
    await c.world.user("counted");
    await c.asOwner("/");
    for (const title of ["Builds a day", "Sign-ins a day", "New users a day", "New tasks a day"]) {
      const chart = c.main().getByRole("figure").filter({ hasText: title });
      await chart.locator("canvas").waitFor();
      expect(await chart.locator("tbody tr").count(), title).to.equal(28);
    }
    const users = c.main().getByRole("figure").filter({ hasText: "New users a day" }).locator("tbody tr");
    // Midnight may have passed since the user was created.
    const counts = (await users.locator("td:last-child").allInnerTexts()).slice(-2).map(Number);
    expect(Math.max(...counts)).to.be.greaterThan(0);
  });
});
