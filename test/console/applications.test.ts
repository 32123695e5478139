// Applications, their grants, and what users link, in the console.
import { expect } from "chai";
import { consoleTests, rejection } from "../support/console.js";
import { externalAuth, ExternalService, link } from "../support/external-services.js";
import { deliver } from "../support/inbox.js";
import { insertAccessToken, insertClient, insertGrant, sendForm, statusOf } from "../support/oauth2.js";

describe("the console shows applications", () => {
  const console = consoleTests();

  const serviceAccount = async (username: string, name = "") => {
    const { world } = console();
    const { createUser } = await world
      .as(world.owner)
      .graphql(`mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`, {
        input: { username, name, email: `${username}@example.com`, isServiceAccount: true },
      });
    return createUser.user.id;
  };

  it("that act as a service account, which is found by its name", async () => {
    const { world, page, asOwner, button, dialog, enter, submit, field, heading, text, fill, secret } = console();
    await serviceAccount("robot");
    await serviceAccount("another-robot", "Another Robot");
    const ada = await world.user("ada");
    await asOwner("/applications");
    await button("Create an application").click();
    await enter("Name", "Robots");
    await enter("A service", true);
    const create = dialog().getByRole("button", { name: "Create", exact: true });
    const account = field(/^Service account/);
    await create.click();
    await dialog().getByText("Is required.").waitFor();
    await account.fill("no-such-account");
    await create.click();
    await dialog().getByText("Must be the username of a service account.").waitFor();
    expect(await account.getAttribute("aria-invalid")).to.equal("true");
    await account.fill("robot");
    await dialog().locator('datalist option[value="another-robot"]').waitFor({ state: "attached" });
    await enter("Resource indicators", "https://robots.example.com");
    await submit("Create");
    await heading("Robots");
    await text("https://robots.example.com");
    await page.getByRole("main").getByRole("link", { name: "robot", exact: true }).waitFor();

    await fill("Add a secret", {}, "Add");
    const clientSecret = await secret();
    const clientId = /Client ID (\S+)/.exec(await page.getByRole("main").innerText())![1]!;
    const ask = async () => {
      const { body } = await sendForm(world, "tokens", {
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
      });
      return (await world.as({ token: body.access_token }).graphql("{ me { username } }")).me.username;
    };
    expect(await ask()).to.equal("robot");

    await fill("Edit", { "Service account": "another-robot" }, "Save");
    await page.getByRole("main").getByRole("link", { name: "another-robot" }).waitFor();
    expect(await ask()).to.equal("another-robot");
    for (const wrong of [ada.username, ""]) {
      await button("Edit").click();
      await account.fill(wrong);
      await dialog().getByRole("button", { name: "Save" }).click();
      await dialog().getByText("Must be the username of a service account.").waitFor();
      await dialog().getByRole("button", { name: "Cancel" }).click();
      await dialog().waitFor({ state: "detached" });
    }
  });

  it("with their default resource, and that of those that register themselves, which opening registration keeps", async () => {
    const { world, asOwner, fill, heading, notice, text } = console();
    const { accessUrl } = world.app.services.config;
    const settings = async () =>
      (await world.as(world.owner).graphql("{ oauth2Settings { dynamicRegistration defaultResource } }"))
        .oauth2Settings;
    const { id } = await insertClient(world, { name: "Elsewhere" });
    await asOwner(`/applications/${id}`);
    await heading("Elsewhere");
    await fill("Edit", { "Default resource": `${accessUrl}/graphql` }, "Save");
    await text(`${accessUrl}/graphql`);
    await asOwner("/applications");
    await fill("Set the default resource", { "Default resource": `${accessUrl}/api/v2/` }, "Save");
    await notice("The default resource is set.");
    expect(await settings()).to.deep.equal({ dynamicRegistration: null, defaultResource: `${accessUrl}/api/v2` });
    await fill("Open registration", {}, "Open registration");
    await notice("Applications can register themselves.");
    expect(await settings()).to.deep.equal({ dynamicRegistration: true, defaultResource: `${accessUrl}/api/v2` });
  });

  it("with all their grants, which are counted before the application is deleted", async () => {
    const { world, page, asOwner, button, dialog, heading, text, main } = console();
    const { id } = await insertClient(world, { name: "Popular" });
    for (let count = 0; count < 27; count++) await insertGrant(world, world.owner.id, id, {});
    await asOwner(`/applications/${id}`);
    await heading("Popular");
    await text("25 of 27");
    await button("Next").click();
    await text("26–27 of 27");
    await button("Delete Popular").click();
    await dialog().getByText("Its secrets and 27 grants of access are deleted.").waitFor();
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await main()
      .getByRole("button", { name: /^Revoke/ })
      .first()
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await text("26 of 26");
  });
});

describe("the console offers members", () => {
  const console = consoleTests();

  it("no changes of organizations and applications", async () => {
    const { world, openAs, heading, offered, row, text, button } = console();
    const ada = await world.user("ada");
    const { id } = await insertClient(world, { name: "Shared" });
    await openAs(ada, "/organizations");
    await heading("Organizations");
    expect(await offered()).to.not.include("Create an organization");
    await openAs(ada, `/organizations/${world.defaultOrganization}`);
    await text("New users join it");
    await button("Joined").waitFor();
    // Only to sort the members.
    expect(await offered()).to.deep.equal(["User", "Joined"]);
    await openAs(ada, "/applications");
    await row("Shared").waitFor();
    expect(await offered())
      .to.not.include("Create an application")
      .and.not.include("Open registration");
    await openAs(ada, `/applications/${id}`);
    await heading("Shared");
    expect(await offered()).to.deep.equal([]);
  });

  it("no SCIM keys", async () => {
    const { world, page, openAs, offered } = console();
    await openAs(await world.user("ada"), "/scim-keys");
    await page.getByText("You may not do this").waitFor();
    expect(await offered()).to.not.include("Create a key");
  });
});

describe("the console shows what users have", () => {
  let lab: ExternalService;
  const settings: NodeJS.ProcessEnv = {};
  before(async () => {
    lab = await ExternalService.open();
    Object.assign(settings, externalAuth(lab.provider()));
  });
  const console = consoleTests(settings);
  after(() => lab.close());

  it("linked accounts, followed as they change elsewhere, and unlinked", async () => {
    const { world, page, openAs, fill, row, notice, button } = console();
    const ada = await world.user("ada");
    await openAs(ada, "/linked-accounts");
    await row("The lab").getByText("Not linked").waitFor();
    expect(await button("Unlink The lab").count()).to.equal(0);
    await page.getByText("Live", { exact: true }).waitFor();
    await link(world.as(ada));
    await row("The lab").getByText("Linked", { exact: true }).waitFor();
    await fill("Unlink The lab", {}, "Unlink");
    await notice("The account is unlinked.");
    await row("The lab").getByText("Not linked").waitFor();
    expect(lab.to("/revoke")).to.have.length.above(0);
  });

  it("grants, whose revocation ends their access", async () => {
    const { world, page, openAs, fill, row, gone, notice, text } = console();
    const ada = await world.user("ada");
    const { id } = await insertClient(world, { name: "Reader" });
    const { text: token } = await insertAccessToken(world, await insertGrant(world, ada.id, id, {}));
    expect(await statusOf(world, token)).to.equal(200);
    await openAs(ada, "/grants");
    await row("Reader").waitFor();
    await fill("Revoke Reader", {}, "Revoke");
    await notice("The access is revoked.");
    await gone("Reader");
    await text("No application has access.");
    expect(await statusOf(world, token)).to.equal(401);
    await page.getByLabel("State").selectOption({ label: "Ended, too" });
    await row("Reader").waitFor();
    expect(await page.getByLabel("Whose").count()).to.equal(0);
  });

  it("an inbox of several pages", async () => {
    const { world, page, openAs, button, text } = console();
    const ada = await world.user("ada");
    await deliver(
      world.app,
      ada.id,
      Array.from({ length: 27 }, (_, at) => `News ${10 + at}`),
    );
    const articles = page.getByRole("article");
    const titles = () => articles.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
    await openAs(ada, "/inbox");
    await text("25 of 27");
    const first = await titles();
    await button("Next").click();
    await text("26–27 of 27");
    expect(new Set([...first, ...(await titles())]).size).to.equal(27);
    await page.getByText("27 unread", { exact: true }).first().waitFor();
    await button(/^Mark as read/)
      .first()
      .click();
    await text("26 unread");
    await page.getByLabel("Show").selectOption({ label: "Unread" });
    await text("25 of 26");
  });

  /** Holds requests of an operation back. Returns a function that lets the server reject them. */
  const heldBack = async (operation: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await console().page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes(`mutation ${operation}(`)) return route.fallback();
      await promise;
      return route.fulfill({ json: rejection });
    });
    return resolve;
  };

  it("notifications that are read immediately, and unread again if the server rejects it", async () => {
    const { world, openAs, button, notice } = console();
    const ada = await world.user("ada");
    await deliver(world.app, ada.id, ["News"]);
    await openAs(ada, "/inbox");
    await button("Mark as read News").waitFor();
    const reject = await heldBack("MarkNotification");
    await button("Mark as read News").click();
    await button("Mark as unread News").waitFor();
    reject();
    await notice("Not today.");
    await button("Mark as read News").waitFor();
  });

  it("choices of notifications that change immediately, and back if the server rejects it", async () => {
    const { world, page, openAs, notice } = console();
    await openAs(await world.user("ada"), "/preferences");
    const toggle = page.getByLabel(/^Custom Notification, Inbox/);
    const shown = (state: string) =>
      page.locator("label", { hasText: `Custom Notification, Inbox: ${state}` }).waitFor();
    await shown("On");
    const reject = await heldBack("UpdatePreferences");
    await toggle.click();
    await shown("Off");
    expect(await toggle.isChecked()).to.equal(false);
    reject();
    await notice("Not today.");
    await shown("On");
    expect(await toggle.isChecked()).to.equal(true);
  });
});
