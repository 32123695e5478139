// The console in other locales: names from right to left and of the greatest length in every list, and no locale at all.
// Looks inside: inserts rows, since the interfaces have no other way to a long name of some objects.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { expectFit } from "../support/accessibility.js";
import { type Console, consoleTests, echoDocument, externalAgent, importedTemplate } from "../support/console.js";
import { insertClient, insertGrant } from "../support/oauth2.js";
import { makeScimKey } from "../support/scim.js";

/** A name of a length: Arabic words, and one word without a place to break. */
const arabic = (length: number) => `مريم عبد الرحمن ${"ب".repeat(length)}`.slice(0, length);
const wide = (length: number) => "W".repeat(length);

const sections = JSON.parse(readFileSync("clients/console/sections.json", "utf8")) as string[];

/** Creates an object for each list, with the longest names that it can have. */
async function fill({ world: w }: Console): Promise<string[]> {
  const owner = w.as(w.owner);
  const run = (name: string, type: string, input: object, fields = "__typename") =>
    owner.graphql(`mutation($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input });
  const ids: string[] = [];
  for (const [at, nameOf] of [arabic, wide].entries()) {
    const username = `${"w".repeat(30)}-${at}`;
    const { createUser } = await run(
      "createUser",
      "CreateUserInput",
      {
        email: `${"w".repeat(50)}-${at}@example.com`,
        username,
        name: nameOf(128),
        password: "quite-a-long-password-7",
      },
      "user { id }",
    );
    const { createOrganization } = await run(
      "createOrganization",
      "CreateOrganizationInput",
      { name: `${"o".repeat(30)}-${at}`, displayName: nameOf(64), description: nameOf(255) },
      "organization { id }",
    );
    const { createGroup } = await run(
      "createGroup",
      "CreateGroupInput",
      { organization: "default", name: `${"g".repeat(34)}-${at}`, displayName: nameOf(64) },
      "group { id }",
    );
    await run("updateGroup", "UpdateGroupInput", { group: createGroup.group.id, addUsers: [createUser.user.id] });
    const template = await importedTemplate(w, `${"t".repeat(30)}-${at}`, {
      ...echoDocument([{ ...externalAgent, apps: [{ slug: "chat", url: "http://127.0.0.1:9" }] }]),
      ai_task: { agent: "main", app: "chat" },
    });
    await run("updateTemplate", "UpdateTemplateInput", {
      templateId: template,
      displayName: nameOf(64),
      description: nameOf(1000),
    });
    const { createWorkspace } = await run(
      "createWorkspace",
      "CreateWorkspaceInput",
      { name: `${"x".repeat(30)}-${at}`, templateId: template },
      "workspace { id }",
    );
    const { template: read } = await owner.graphql("query($id: UUID!) { template(id: $id) { activeVersion { id } } }", {
      id: template,
    });
    await run("createTask", "CreateTaskInput", {
      input: nameOf(1000),
      displayName: nameOf(64),
      templateVersionId: read.activeVersion.id,
    });
    const client = await insertClient(w, { name: nameOf(64) });
    await insertGrant(w, w.owner.id, client.id, {});
    await makeScimKey(w, { name: nameOf(64) });
    await run("createApiKey", "CreateApiKeyInput", { name: nameOf(64) });
    await run("createUserSecret", "CreateUserSecretInput", {
      name: wide(30) + at,
      value: "x",
      description: nameOf(200),
    });
    await run("createProvisionerKey", "CreateProvisionerKeyInput", {
      organization: "default",
      name: `${"p".repeat(30)}-${at}`,
    });
    await run("createWorkspaceProxy", "CreateWorkspaceProxyInput", {
      name: `${"p".repeat(30)}-${at}`,
      displayName: nameOf(64),
    });
    await run("inviteUser", "InviteUserInput", {
      email: `${"i".repeat(50)}-${at}@example.com`,
      name: nameOf(128),
      delivery: "LINK",
    });
    await run("sendCustomNotification", "SendCustomNotificationInput", {
      content: { title: nameOf(120), message: nameOf(2000) },
    });
    ids.push(
      `/users/${createUser.user.id}`,
      `/groups/${createGroup.group.id}`,
      `/organizations/${createOrganization.organization.id}`,
      `/templates/${template}`,
      `/workspaces/${createWorkspace.workspace.id}`,
      `/applications/${client.id}`,
    );
  }
  await run("updateAppearance", "UpdateAppearanceInput", {
    applicationName: wide(64),
    announcementBanners: [arabic(300), wide(300)].map((message) => ({
      message,
      enabled: true,
      backgroundColor: "#1d5fbf",
    })),
  });
  return ids;
}

describe("the console in Arabic", () => {
  const console = consoleTests({}, { locale: "ar" });

  it("fits phones and desktops with names of any direction and the greatest length in every list", async () => {
    const c = console();
    const objects = await fill(c);
    await c.asOwner("/");
    const faults: string[] = [];
    for (const path of ["/", ...sections.map((section) => `/${section}`), ...objects]) {
      await c.open(path);
      await c.page.getByRole("heading", { level: 1 }).waitFor();
      await c.page.locator(".loading").first().waitFor({ state: "detached" });
      await c.page.waitForLoadState("networkidle");
      for (const width of [1280, 360]) {
        await c.page.setViewportSize({ width, height: 800 });
        await expectFit(c.page, `${path} at ${width} pixels`).catch((fault: Error) => faults.push(fault.message));
        if (process.env.STEWARD_TEST_PICTURES)
          await c.page.screenshot({
            path: `${process.env.STEWARD_TEST_PICTURES}/ar${path.replaceAll("/", "_")}-${width}.png`,
          });
      }
    }
    expect(faults).to.deep.equal([]);
  });

  it("keeps names from right to left apart from what stands beside them", async () => {
    const c = console();
    await c.world
      .as(c.world.owner)
      .graphql(
        `mutation { createUser(input: { email: "rtl@example.com", username: "rtl", name: "مريم", password: "quite-a-long-password-7" }) { __typename } }`,
      );
    await c.asOwner("/users?q=rtl");
    const person = c.row("rtl").locator(".person").first();
    await person.waitFor();
    // The name begins where names from left to right do, and the username comes after it.
    const [name, username] = await Promise.all(
      [person.getByText("مريم"), person.getByText("rtl", { exact: true })].map((each) => each.boundingBox()),
    );
    expect(name!.x).to.be.closeTo(username!.x, 2);
    expect(await person.locator("bdi").first().innerText()).to.equal("مريم");
  });

  it("writes dates as the locale does", async () => {
    const c = console();
    await c.asOwner("/keys");
    const title = await c.main().locator("td time").first().getAttribute("title");
    const at = await c.main().locator("td time").first().getAttribute("datetime");
    // The browser is in Berlin.
    const there = new Date(at!).toLocaleString("en", { timeZone: "Europe/Berlin", year: "numeric" });
    const year = new Intl.NumberFormat("ar", { useGrouping: false }).format(Number(there));
    expect(title).to.include(year);
  });
});

describe("the console without a locale", () => {
  const console = consoleTests({}, { locale: undefined });

  it("shows charts and lists, as under LANG=C", async () => {
    const c = console();
    // As browsers name it under a POSIX locale.
    await c.page.addInitScript(`Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix" });
      Object.defineProperty(Navigator.prototype, "languages", { get: () => ["en-US@posix"] });`);
    await c.asOwner("/");
    await c.text("Sign-ins a day");
    await c.main().locator(".chart canvas").first().waitFor();
    for (const path of ["/users", "/audit", "/keys", "/preferences"]) {
      await c.open(path);
      await c.main().getByRole("table").first().waitFor();
    }
  });
});
