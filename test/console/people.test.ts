// Users, organizations, and groups in the console.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";

describe("the console shows people", () => {
  const console = consoleTests();

  describe("users", () => {
    it("are created, with all faults next to their fields", async () => {
      const { page, asOwner, button, dialog, field, submit, heading } = console();
      await asOwner("/users");
      await button("Create a user").click();
      await dialog().getByRole("button", { name: "Create", exact: true }).click();
      await page.locator("[aria-invalid]").first().waitFor();
      const faulty = dialog().locator(".field:has([aria-invalid])");
      expect(await faulty.locator("label").allInnerTexts()).to.deep.equal(["Email", "Username", "First password"]);
      expect(await faulty.locator(".fault").allInnerTexts())
        .to.have.length(3)
        .that.does.not.include("");
      expect(await page.locator(":focus").getAttribute("name")).to.equal("email");
      await field("Email").fill("new@example.com");
      await field("Username").fill("owner");
      await field("First password").fill("quite-a-long-password-indeed");
      await dialog().getByRole("button", { name: "Create", exact: true }).click();
      await dialog().getByText("in use").waitFor();
      expect(await field("Username").getAttribute("aria-invalid")).to.equal("true");
      await field("Username").fill("newcomer");
      await submit("Create");
      await heading("newcomer");
    });

    it("are not sent with values beyond their limits", async () => {
      const { page, asOwner, button, dialog, field } = console();
      const sent: string[] = [];
      page.on("request", (request) => sent.push(...(request.postData()?.match(/createUser/) ?? [])));
      await asOwner("/users");
      await button("Create a user").click();
      await field("Email").fill("limits@example.com");
      await field("Username").fill("x".repeat(33));
      await field("First password").fill("quite-a-long-password-indeed");
      const create = dialog().getByRole("button", { name: "Create", exact: true });
      await create.click();
      await dialog().getByText("Must be at most 32 letters, digits, and single hyphens between them.").waitFor();
      expect(sent).to.deep.equal([]);
      await field("Username").fill("owner");
      await create.click();
      await dialog().getByText("in use").waitFor();
      expect(sent).to.deep.equal(["createUser"]);
    });

    it("are found, sorted, and paged by the address", async () => {
      const { world, page, asOwner, button, text, main } = console();
      await world.users(...Array.from({ length: 27 }, (_, at) => `paged-${10 + at}`));
      const names = () => main().locator("tbody td:first-child").allInnerTexts();
      await asOwner("/users?q=paged-");
      await text("25 of 27");
      const first = await names();
      await button("Next").click();
      await text("26–27 of 27");
      expect(new Set([...first, ...(await names())]).size).to.equal(27);
      await page.goBack();
      await text("25 of 27");
      await button("Username").click();
      await page.locator("[aria-sort=descending]").waitFor();
      await main()
        .getByRole("cell", { name: /paged-36/ })
        .first()
        .waitFor();
      await page.getByRole("searchbox").fill("paged-12");
      await text("1 of 1");
      expect(new URL(page.url()).searchParams.get("q")).to.equal("paged-12");
      await page.reload();
      await text("1 of 1");
      expect(await page.getByRole("searchbox").inputValue()).to.equal("paged-12");
    });

    it("are changed, suspended with a way back, given another password, and deleted", async () => {
      const { world, page, asOwner, button, fill, heading, text, notice, row, gone } = console();
      const ada = await world.user("changed");
      await asOwner(`/users/${ada.id}`);
      await heading(ada.username);
      await fill("Edit", { Name: "Ada Lovelace" }, "Save");
      await heading("Ada Lovelace");
      await fill("Roles", { Auditor: true }, "Save");
      await text("Auditor");

      await fill(`Suspend ${ada.username}`, {}, "Suspend");
      await text("Suspended");
      await page.getByRole("button", { name: "Undo" }).click();
      await button(`Suspend ${ada.username}`).waitFor();

      await fill("Reset password", { "New password": "another-long-password-indeed" }, "Reset");
      await notice("The password is reset.");
      expect(await world.login(ada.email, "another-long-password-indeed")).to.be.a("string");
      await page.reload();
      // Named after the program that signed in.
      await row(/^node Session/, "Sessions and keys")
        .getByRole("button", { name: /^Revoke/ })
        .click();
      await console().submit("Revoke");
      await text("No session and no key.");

      await fill(`Delete ${ada.username}`, {}, "Delete");
      await heading("Users");
      await gone(/Ada Lovelace/);
    });

    it("have an identity at their provider, which administrators link and unlink, and they see", async () => {
      const { world, asOwner, openAs, fill, text, heading, notice, row, offered } = console();
      const ida = await world.user("ida", undefined, "OIDC");
      await asOwner(`/users/${ida.id}`);
      await heading(ida.username);
      await text("No identity yet");
      const issuer = "https://login.example.com/tenant/v2.0";
      await fill("Link", { "ID at the provider": "9f2c-one", Issuer: issuer }, "Link");
      await notice("The identity is linked.");
      await row(/9f2c-one/, "Identities")
        .getByText(issuer)
        .waitFor();
      // The sessions of a former identity end.
      await openAs(ida, "/keys");
      await row(/9f2c-one/, "Identities").waitFor();
      expect(await offered()).to.not.include("Unlink");
      await asOwner(`/users/${ida.id}`);
      await fill("Link another", { "ID at the provider": "9f2c-two", Issuer: issuer }, "Link");
      await row(/9f2c-two/, "Identities").waitFor();
      await fill("Unlink 9f2c-two", {}, "Unlink");
      await text("No identity yet");
    });

    it("have quiet hours, which administrators of users change", async () => {
      const { world, asOwner, openAs, fill, text, heading, button, offered } = console();
      const [ada, auditor] = await world.users("ada", "auditor");
      await asOwner(`/users/${ada!.id}`);
      await heading(ada!.username);
      await text("The deployment");
      await fill("Change", { Time: "3:15", "Time zone": "Europe/Berlin" }, "Save");
      await text("03:15 (Europe/Berlin)");
      await text("The user");
      const { quietHours } = await world.as(ada!).graphql("{ quietHours { time timezone } }");
      expect(quietHours).to.deep.equal({ time: "03:15", timezone: "Europe/Berlin" });
      await world.grant(auditor!, "auditor");
      await openAs(auditor!, `/users/${ada!.id}`);
      await heading(ada!.username);
      expect(await offered()).to.not.include("Change");
      await asOwner(`/users/${ada!.id}`);
      await button("Use the default").click();
      await text("The deployment");
    });

    it("get keys if they are service accounts, which work and are shown once", async () => {
      const { world, page, asOwner, openAs, fill, heading, row, secret, offered, button } = console();
      await asOwner("/users");
      await fill(
        "Create a user",
        { "A service account": true, Username: "robot", Email: "robot@example.com" },
        "Create",
      );
      await heading("robot");
      const path = new URL(page.url()).pathname;
      await fill("Create a key", { Name: "deploy" }, "Create");
      const token = await secret();
      await row("deploy", "Sessions and keys").waitFor();
      expect(await page.content()).to.not.include(token);
      expect((await world.as({ token }).graphql("{ me { username } }")).me.username).to.equal("robot");

      const [auditor, ada] = await world.users("auditor", "ada");
      await world.grant(auditor!, "auditor");
      await openAs(auditor!, path);
      await heading("robot");
      expect(await offered()).to.not.include("Create a key");
      await asOwner(`/users/${ada!.id}`);
      await row(/Session/, "Sessions and keys").waitFor();
      await button(`Delete ${ada!.username}`).waitFor();
      expect(await offered())
        .to.include("Delete")
        .and.not.include("Create a key");
    });

    it("end all their sessions but the current one, and keep their keys", async () => {
      const { world, openAs, button, submit, row, gone, notice } = console();
      const ada = await world.user("ada");
      const others = [await world.session(ada.id), await world.session(ada.id)];
      const key = await world.scoped(ada, "all");
      await openAs(ada, "/keys");
      await row(/^node Session/)
        .first()
        .waitFor();
      await button("End all other sessions").click();
      await submit("End all other sessions");
      await notice("2 sessions ended.");
      await gone(/^node Session/);
      await row("This session").waitFor();
      const statusOf = async (token: string) =>
        (await world.as({ token }).post("/graphql", { query: "{ me { id } }" })).status;
      expect(await Promise.all([...others, key.token, ada.token].map(statusOf))).to.deep.equal([401, 401, 200, 200]);
    });

    it("have only the actions that the caller may do", async () => {
      const { world, page, openAs, button, offered, heading } = console();
      const [ada, bob] = await world.users("ada", "bob");
      await world.grant(bob!, "template-admin");
      await openAs(bob!, `/users/${ada!.id}`);
      await heading(ada!.username);
      expect(await offered()).to.deep.equal([]);
      await world.grant(bob!, "user-admin");
      await openAs(bob!, `/users/${ada!.id}`);
      await heading(ada!.username);
      await button(`Suspend ${ada!.username}`).waitFor();
      // Roles in organizations have buttons beside these; those in the deployment are given by owners.
      expect(await page.locator(".heading").getByRole("button").allInnerTexts()).to.deep.equal([
        "Edit",
        "Reset password",
        "Remove second factor",
        "Suspend",
        "Delete",
      ]);
      await button("Roles in Default").waitFor();
    });
  });

  describe("organizations", () => {
    it("are created, changed, and deleted", async () => {
      const { asOwner, fill, heading, text, gone } = console();
      await asOwner("/organizations");
      await fill("Create an organization", { Name: "lab" }, "Create");
      await heading("lab");
      await fill("Edit", { "Display name": "The Lab", Description: "For trials" }, "Save");
      await heading("The Lab");
      await text("For trials");
      await fill("Delete The Lab", {}, "Delete");
      await heading("Organizations");
      await gone(/The Lab/);
    });

    it("have members with roles, whose removal is undone", async () => {
      const { world, page, asOwner, dialog, button, fill, text, row, submit, enter } = console();
      const ada = await world.user("member");
      const { id } = await world.organization();
      await asOwner(`/organizations/${id}`);
      await button("Add a member").click();
      await enter("User", "no-such-user");
      await dialog().getByRole("button", { name: "Add" }).click();
      await dialog().getByRole("alert").waitFor();
      await enter("User", ada.username);
      await submit("Add");
      await row(ada.username).waitFor();
      await fill(`Roles ${ada.username}`, { "Organization auditor": true }, "Save");
      await row(ada.username).getByText("Organization auditor").waitFor();
      await fill(`Remove ${ada.username}`, {}, "Remove");
      await text("No member matches.");
      await page.getByRole("button", { name: "Undo" }).click();
      await row(ada.username).waitFor();
    });
  });

  describe("groups", () => {
    it("are created, changed, given a budget, and deleted", async () => {
      const { asOwner, fill, heading, text, notice, gone, page, main } = console();
      await asOwner("/groups");
      await fill("Create a group", { Name: "crew", "Quota of a member": "40" }, "Create");
      await heading("crew");
      await text("40 credits a day");
      await fill("Edit", { "Display name": "The Crew" }, "Save");
      await heading("The Crew");
      await fill("AI budget", { "Limit for each member": "12.5" }, "Save");
      await text("12.50 a month");
      await fill("AI budget", { "Limit for each member": "20" }, "Save");
      await text("20.00 a month");
      await main().getByRole("button", { name: "Remove the AI budget" }).click();
      await notice("The AI budget is removed.");
      await page.getByRole("button", { name: "Undo" }).click();
      await text("20.00 a month");
      await fill("Delete The Crew", {}, "Delete");
      await heading("Groups");
      await gone(/The Crew/);
    });

    it("get a budget in numbers only, and say so next to the field", async () => {
      const { world, asOwner, heading, button, dialog, field, submit, text } = console();
      const group = await world.group();
      await asOwner(`/groups/${group.id}`);
      await heading(group.name);
      await button("AI budget").click();
      const limit = field("Limit for each member");
      for (const wrong of ["abc", "12,50", "0", ""]) {
        await limit.fill(wrong);
        await dialog().getByRole("button", { name: "Save" }).click();
        await dialog().locator(".fault", { hasText: "Needs a number above 0, such as 12.50." }).waitFor();
        expect(await limit.getAttribute("aria-invalid")).to.equal("true");
        await limit.fill("7");
        await submit("Save");
        await text("7.00 a month");
        await button("AI budget").click();
      }
    });

    it("get members by a search, and show what their quota is together", async () => {
      const { world, page, asOwner, text, row, notice, main } = console();
      const [ada, bob] = await world.users("ada-found", "bob-found");
      const group = await world.group(undefined, { members: [bob!] });
      await world.as(world.owner).patch(`/api/v2/groups/${group.id}`, { quota_allowance: 30 });
      await asOwner(`/groups/${group.id}`);
      await row(bob!.username).waitFor();
      await page.getByLabel("Add a member").fill("ada-found");
      await page.getByRole("list", { name: "Found users" }).getByRole("button").first().waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await notice(`${ada!.username} is added.`);
      // The next name can be typed.
      await page.getByLabel("Add a member").and(page.locator(":focus")).waitFor();
      await row(ada!.username).waitFor();
      await text("60 credits a day");
      await main()
        .getByRole("button", { name: `Remove ${bob!.username}` })
        .click();
      await row(bob!.username).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Undo" }).last().click();
      await row(bob!.username).waitFor();
    });

    it("sum up the budgets of their members, for those who may read them", async () => {
      const { world, page, asOwner, openAs, heading, text, row } = console();
      const [ada, bob] = await world.users("ada", "bob");
      const group = await world.group(undefined, { members: [ada!, bob!] });
      await world.as(world.owner).graphql(
        `mutation($group: String!) {
          setGroupAiBudget(input: { group: $group, spendLimitMicros: 12500000 }) { __typename } }`,
        { group: group.id },
      );
      await asOwner(`/groups?q=${group.name}`);
      await page.getByRole("columnheader", { name: "AI budget together" }).waitFor();
      expect(await row(group.name).getByRole("cell").allInnerTexts()).to.include("25.00");
      await page.getByRole("link", { name: group.name }).click();
      await heading(group.name);
      await text("12.50 a month");
      await text("25.00 a month");
      await openAs(ada!, `/groups?q=${group.name}`);
      await row(group.name).waitFor();
      await page.getByRole("link", { name: group.name }).click();
      await heading(group.name);
      await text("Quota together");
      expect(await page.getByText("AI budget").count()).to.equal(0);
    });

    it("of the same name are told apart, and sum up their quota", async () => {
      const { world, asOwner, row } = console();
      const { name } = await world.organization();
      await asOwner("/groups?q=Everyone");
      await row(`Everyone ${name}/Everyone`).waitFor();
      expect(await row(/Everyone main\/Everyone|Everyone default\/Everyone/).count()).to.equal(1);
    });

    it("are read without actions by those who may not change them", async () => {
      const { world, openAs, heading, offered } = console();
      const [ada] = await world.users("ada");
      const group = await world.group(undefined, { members: [ada!] });
      await openAs(ada!, `/groups/${group.id}`);
      await heading(group.name);
      expect(await offered()).to.deep.equal([]);
    });
  });
});
