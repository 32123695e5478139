// Every view in light, in the dark, and on narrow screens: without violations of accessibility rules, without errors, and
// no wider than the screen.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { expectFit, violationsOf } from "../support/accessibility.js";
import { type Console, consoleTests, echoDocument, externalAgent, importedTemplate } from "../support/console.js";
import { makeEndpoint } from "../support/event-receiver.js";
import { ScimClient } from "../support/scim.js";

/** Pictures of each view, in the directory that the variable names. */
const pictures = process.env.STEWARD_TEST_PICTURES;

describe("every view of the console", () => {
  const console = consoleTests();

  /** Creates an object of each kind, once. */
  async function fill({ world: w }: Console): Promise<string[]> {
    const owner = w.as(w.owner);
    const run = (name: string, type: string, input: object, fields: string) =>
      owner.graphql(`mutation($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input });
    const [ada] = await w.users("ada");
    const group = await w.group(undefined, { members: [ada!] });
    const template = await importedTemplate(w, "shown", echoDocument([externalAgent]));
    const { createWorkspace } = await run(
      "createWorkspace",
      "CreateWorkspaceInput",
      { name: "shown", templateId: template },
      "workspace { id } workspaceBuild { id job { id } }",
    );
    const app = await run(
      "createOAuth2App",
      "CreateOAuth2AppInput",
      { name: "Shown", callbackUrl: "https://a.example.com" },
      "oauth2App { id }",
    );
    const { createScimKey } = await run(
      "createScimKey",
      "CreateScimKeyInput",
      { name: "shown" },
      "secret scimKey { id }",
    );
    await new ScimClient(w.nobody, createScimKey.secret).get("/Users/missing");
    const guest = { email: "a-guest-with-a-long-address@department.example.com", delivery: "LINK", roles: ["AUDITOR"] };
    await run("inviteUser", "InviteUserInput", { ...guest, groups: [group.id] }, "link");
    await run("createUserSecret", "CreateUserSecretInput", { name: "shown", value: "x" }, "userSecret { id }");
    await run("createWorkspaceProxy", "CreateWorkspaceProxyInput", { name: "shown" }, "workspaceProxy { id }");
    await run(
      "sendCustomNotification",
      "SendCustomNotificationInput",
      { content: { title: "Shown", message: "Text" } },
      "__typename",
    );
    const banner = { message: "Shown", enabled: true, backgroundColor: "#1d5fbf" };
    await run("updateAppearance", "UpdateAppearanceInput", { announcementBanners: [banner] }, "__typename");
    const url = "https://events.example.com/a/long/path/of/an/endpoint?with=parameters-that-are-long";
    const { id: endpoint } = await makeEndpoint(w, url, { name: "Shown", eventTypes: ["group.*", "workspace.create"] });
    const { workspace, workspaceBuild: build } = createWorkspace;
    const sections = JSON.parse(readFileSync("clients/console/sections.json", "utf8")) as string[];
    return [
      "/",
      ...sections.map((section) => `/${section}`),
      "/users?status=ACTIVE",
      `/users/${ada!.id}`,
      `/groups/${group.id}`,
      `/organizations/${w.defaultOrganization}`,
      `/templates/${template}`,
      `/workspaces/${workspace.id}`,
      `/workspaces/${workspace.id}/extend`,
      `/workspaces/${workspace.id}/${build.id}`,
      `/jobs/${build.job.id}`,
      `/applications/${app.createOAuth2App.oauth2App.id}`,
      "/audit/readers",
      `/event-endpoints/${endpoint}`,
      `/scim-keys?key=${createScimKey.scimKey.id}`,
    ];
  }

  // Without a reload: colors are all that differs in the dark, so only their contrast is checked again.
  const settings = [
    { name: "in light", scheme: "light", width: 1280 },
    { name: "in the dark", scheme: "dark", width: 1280, rules: ["color-contrast"] },
    { name: "at 360 pixels", scheme: "light", width: 360 },
    // What is there is the same as at the other widths: only whether it fits is checked.
    { name: "at 820 pixels", scheme: "light", width: 820, rules: [] },
    { name: "at 1024 pixels", scheme: "light", width: 1024, rules: [] },
  ] as const;

  it("keeps the rules of axe in light, in the dark, and at 360 pixels, and fits on other screens", async () => {
    const { world, page, asOwner, open } = console();
    const paths = await fill(console());
    await asOwner("/");
    const filters = ["", "SUSPENDED"].map((status) => ({ name: `Status ${status}`, search: `q=a&status=${status}` }));
    const stored = [`steward.filters ${world.owner.id} /users`, JSON.stringify(filters)].map((each) =>
      JSON.stringify(each),
    );
    await page.evaluate(`localStorage.setItem(${stored.join(", ")})`);
    for (const path of paths) {
      await open(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await page.waitForLoadState("networkidle");
      const shown = await page.getByRole("alert").filter({ hasText: /\S/ }).allInnerTexts();
      expect(shown, path).to.deep.equal([]);
      for (const setting of settings) {
        const { name, scheme, width } = setting;
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 800 });
        await expectFit(page, `${path} ${name}`);
        expect(
          await violationsOf(page, "rules" in setting ? setting.rules : undefined),
          `${path} ${name}`,
        ).to.deep.equal([]);
        if (pictures)
          await page.screenshot({
            path: `${pictures}/${path.replaceAll("/", "_")}-${scheme}-${width}.png`,
            fullPage: true,
          });
      }
    }
  });
});
