// Invitations, imports of people, first steps, and passwords that must be changed, in the console and on pages.
import { expect } from "chai";
import { createUser, goodPassword } from "../support/accounts.js";
import { mutate, newEmail } from "../support/invitations.js";
import { consoleTests } from "../support/console.js";

describe("the console invites people", () => {
  const console = consoleTests();

  it("with what they get, by a link that they open, and lists how far it has come", async () => {
    const { world, page, visit, asOwner, fill, secret, row, text } = console();
    const team = await world.group("invited-team");
    const email = newEmail();
    await asOwner("/invitations");
    await text("No one is invited.");
    await fill(
      "Invite a person",
      { Email: email, Name: "Ada Lovelace", "User admin": true, "invited-team": true, Owner: false, Auditor: true },
      "Invite",
    );
    const link = await secret();
    await row(email, "Invitations").getByText("Link handed over").waitFor();
    await row(email, "Invitations").getByText(team.name).waitFor();

    // The person, in a browser without a session.
    await page.goto("about:blank");
    await visit.clearCookies();
    await page.goto(link);
    await page.getByRole("heading", { name: "You are invited" }).waitFor();
    await page.getByLabel("Password", { exact: true }).fill(goodPassword);
    await page.getByLabel("Password again").fill(goodPassword);
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.getByRole("heading", { name: "Hello, Ada Lovelace" }).waitFor();
    await page.goto(link);
    await page.getByText("This invitation cannot be used.").waitFor();

    await asOwner("/invitations");
    await row(email, "Invitations").getByText("Accepted").waitFor();
  });

  it("with the roles that the inviter may give alone", async () => {
    const { world, openAs, button, dialog } = console();
    const inviter = await world.user("inviter");
    await world.grant(inviter, "user-admin");
    await openAs(inviter, "/invitations");
    await button("Invite a person").click();
    await dialog().getByText("Roles in the organization", { exact: true }).waitFor();
    const offered = (role: string) => dialog().getByLabel(role, { exact: true }).count();
    expect([await offered("User admin"), await offered("Auditor"), await offered("Owner")]).to.deep.equal([1, 0, 0]);
    expect(await dialog().getByText("Roles everywhere").count()).to.equal(0);
  });

  it("again, and revokes what was sent", async () => {
    const { world, asOwner, row, fill, notice, text } = console();
    const email = newEmail();
    await mutate(world.as(world.owner), "inviteUser", { email, delivery: "LINK" }, "link");
    await asOwner(`/invitations?q=${email}`);
    await fill(`Revoke ${email}`, {}, "Revoke");
    await notice("is revoked");
    await row(email, "Invitations").getByText("Revoked").waitFor();
    await asOwner("/invitations?q=no-such-person");
    await text("No invitation matches.");
  });

  it("and says that an invitation is void whose address got an account otherwise", async () => {
    const { world, asOwner, row, button, text } = console();
    const email = newEmail();
    await mutate(world.as(world.owner), "inviteUser", { email, delivery: "LINK" }, "link");
    await asOwner(`/invitations?q=${email}`);
    await row(email, "Invitations").getByText("Open").waitFor();
    await button(`Send again ${email}`).waitFor();
    await world
      .as(world.owner)
      .graphql(createUser, { input: { username: "otherwise", email, password: goodPassword } });
    await asOwner(`/invitations?q=${email}`);
    await row(email, "Invitations").getByText("Void").waitFor();
    await text("The address has an account by now");
    await button(`Revoke ${email}`).waitFor();
    expect(await button(`Send again ${email}`).count()).to.equal(0);
  });

  it("from a file, after a look at the faults of its rows", async () => {
    const { page, asOwner, button, dialog, row, notice } = console();
    await asOwner("/invitations");
    await button("Import").click();
    const choose = (csv: string) =>
      dialog()
        .getByLabel("File")
        .setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
    await choose("name\nAda\n");
    await dialog().getByText("Must have a column named email.").waitFor();
    await choose("email,roles\nimported-one@example.com,auditor\nimported,nobody\n");
    await dialog().getByText("1 row of 2 must be mended").waitFor();
    const faulty = dialog().getByRole("list", { name: "Rows with faults" });
    expect(await faulty.locator(".fault").allInnerTexts()).to.have.length(2);
    expect(
      await dialog()
        .getByRole("button", { name: /^Invite/ })
        .isDisabled(),
    ).to.equal(true);
    await choose("email,roles\nimported-one@example.com,auditor\nimported-two@example.com,\n");
    await dialog().getByText("2 people can be invited.").waitFor();
    await dialog().getByRole("button", { name: "Invite 2 people" }).click();
    await notice("2 people invited.");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      dialog().getByRole("button", { name: "Save the links" }).click(),
    ]);
    expect(file.suggestedFilename()).to.equal("invitations.csv");
    await dialog().getByRole("button", { name: "Done" }).click();
    await row("imported-two@example.com", "Invitations").waitFor();
  });
});

describe("the console's page of a user", () => {
  const console = consoleTests();

  it("changes memberships, roles, and groups in place, and shows the audit log", async () => {
    const { world, page, asOwner, fill, heading, main, notice } = console();
    const ada = await world.user("placed");
    const { id } = await world.organization("research");
    await world.group("analysts", { organization: id });
    await asOwner(`/users/${ada.id}`);
    await heading(ada.username);
    const panel = (name: string) => main().getByRole("region", { name, exact: true });
    await fill(`Add ${ada.username} to an organization`, { Organization: "research" }, "Add");
    await panel("Organizations").getByRole("link", { name: "research" }).waitFor();
    await fill("Roles in research", { Auditor: true }, "Save");
    await panel("Organizations").getByText("Auditor").waitFor();
    await fill(`Add ${ada.username} to a group`, { Group: "analysts (research)" }, "Add");
    await panel("Groups").getByRole("link", { name: "analysts" }).waitFor();
    await panel("Groups").getByRole("button", { name: "Remove from analysts" }).click();
    await notice("is no longer in analysts");
    await page.getByRole("button", { name: "Undo" }).click();
    await panel("Groups").getByRole("link", { name: "analysts" }).waitFor();
    await fill("Remove from research", {}, "Remove");
    await panel("Organizations").getByRole("link", { name: "research" }).waitFor({ state: "detached" });
    await panel("Changes of the account").getByText("created").first().waitFor();
    await panel("Actions of the user").getByText("None in the audit log.").waitFor();
  });

  it("offers the roles that the caller may assign alone, and those that the user has", async () => {
    const { world, openAs, heading, button, dialog } = console();
    const [ada, inviter] = await world.users("held", "placer");
    await world.grant(inviter!, "user-admin");
    await world.grant(ada!, "organization-auditor");
    await openAs(inviter!, `/users/${ada!.id}`);
    await heading(ada!.username);
    await button("Roles in Default").click();
    const offered = (role: string) => dialog().getByLabel(role, { exact: true }).count();
    await dialog().getByLabel("User admin", { exact: true }).waitFor();
    expect([await offered("Auditor"), await offered("Admin"), await offered("Template admin")]).to.deep.equal([
      1, 0, 0,
    ]);
  });

  it("offers nothing of it to those who only read", async () => {
    const { world, openAs, heading, main, offered } = console();
    const [ada, auditor] = await world.users("ada", "reader");
    await world.grant(auditor!, "auditor");
    await openAs(auditor!, `/users/${ada!.id}`);
    await heading(ada!.username);
    await main().getByRole("region", { name: "Changes of the account" }).waitFor();
    expect(await offered()).to.not.include.members(["Add"]);
    expect((await offered()).filter((name) => /^(Add|Roles|Remove)/.test(name))).to.deep.equal([]);
  });
});

describe("the console of a new deployment", () => {
  const console = consoleTests();

  it("lists the first steps with their actions until they are done or dismissed", async () => {
    const { world, page, asOwner, main, fill, row } = console();
    await asOwner("/");
    const steps = main().getByRole("region", { name: "First steps" });
    await steps.getByText("0 of 4 done").waitFor();
    await steps.getByRole("link", { name: "Invite a person" }).click();
    await page.getByRole("heading", { level: 1, name: "Invitations" }).waitFor();
    await fill("Invite a person", { Email: "first@example.com" }, "Invite");
    await console().secret();
    await row("first@example.com", "Invitations").waitFor();
    await asOwner("/");
    await steps.getByText("1 of 4 done").waitFor();
    await fill("Dismiss first steps", {}, "Dismiss");
    await steps.waitFor({ state: "detached" });

    const plain = await world.user("plain");
    await console().openAs(plain, "/");
    await page.getByRole("heading", { level: 1, name: /^Hello/ }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(await steps.count()).to.equal(0);
  });
});

describe("a browser of a user who must change the password", () => {
  const console = consoleTests();

  it("shows nothing else until it is changed", async () => {
    const { world, page, open, asOwner, fill, heading } = console();
    await asOwner("/users");
    await fill(
      "Create a user",
      { Email: "given@example.com", Username: "given", "First password": "given-by-an-administrator-7" },
      "Create",
    );
    await heading("given");
    await console().text("Must be changed at the next sign-in");
    // The console must not lead to the sign-in page at the same time.
    await page.goto("about:blank");
    await console().visit.clearCookies();
    await open("/login?return_to=%2Fkeys");
    await page.getByLabel("Email").fill("given@example.com");
    await page.getByLabel("Password").fill("given-by-an-administrator-7");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Change your password" }).waitFor();
    await open("/workspaces");
    await page.getByRole("heading", { name: "Change your password" }).waitFor();
    await page.getByLabel("Current password").fill("given-by-an-administrator-7");
    await page.getByLabel("New password", { exact: true }).fill(goodPassword);
    await page.getByLabel("New password again").fill(goodPassword);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor();
    expect(await world.login("given@example.com", goodPassword)).to.be.a("string");
  });
});
