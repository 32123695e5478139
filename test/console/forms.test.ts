// Forms of the console, which are filled in with the keyboard: the type comes first, and what is filled in is not lost.
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { expectAccessible } from "../support/accessibility.js";
import { type Console, consoleTests, rejection } from "../support/console.js";
import { ScimClient } from "../support/scim.js";
import { userPassword } from "../support/world.js";

describe("the console has forms", () => {
  const console = consoleTests({ STEWARD_API_KEY_MAX_LIFETIME: "40d", STEWARD_API_KEY_DEFAULT_LIFETIME: "10d" });

  /** Opens the form of a button with the keyboard. */
  async function open({ page, button, dialog }: Console, name: string): Promise<void> {
    await button(name).first().focus();
    await page.keyboard.press("Enter");
    await dialog().waitFor();
  }

  /** Goes on with the Tab key until something has the focus, as those do who see no pointer. */
  async function tabTo({ page, dialog }: Console, label: string): Promise<void> {
    const wanted = dialog()
      .getByLabel(label)
      .or(dialog().getByRole("button", { name: label, exact: true }));
    for (let presses = 0; presses < 60; presses++) {
      if ((await wanted.and(page.locator(":focus")).count()) > 0) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`The Tab key does not lead to ${label}.`);
  }

  const doneWithSecret = async (c: Console) => {
    await c.dialog().locator(".secret").waitFor();
    await tabTo(c, "Done");
    await c.page.keyboard.press("Enter");
    await c.dialog().waitFor({ state: "detached" });
  };

  const labelsOf = ({ dialog }: Console) =>
    dialog()
      .locator("form > .field:not(.cards, .choices) > label, form > .field > legend")
      .evaluateAll((all) => all.map((each) => each.textContent!.replace(" (optional)", "").trim()));

  it("that ask for the kind of account first, and then only for what it has", async () => {
    const c = console();
    await c.asOwner("/users");
    await open(c, "Create a user");
    expect(await labelsOf(c)).to.deep.equal([
      "Account",
      "Email",
      "Username",
      "Name",
      "First password",
      "The user must change it first",
    ]);
    await c
      .dialog()
      .getByRole("radio", { name: /^A person with a password/ })
      .focus();
    await c.page.keyboard.press("ArrowDown");
    await c.field("What it does").waitFor();
    expect(await labelsOf(c)).to.deep.equal(["Account", "Email", "Username", "What it does"]);
    await c.field("Email").focus();
    await c.page.keyboard.type("builds@example.com");
    await c.page.keyboard.press("Tab");
    await c.page.keyboard.type("builds");
    await c.page.keyboard.press("Enter");
    await c.heading("builds");
    await c.text("Service account");
  });

  it("that ask for the kind of application first, which says how it gets access", async () => {
    const c = console();
    await c.asOwner("/applications");
    await open(c, "Create an application");
    expect(await labelsOf(c))
      .to.include("Redirect URIs")
      .and.not.include("Service account");
    await c.enter("A device without a browser", true);
    expect(await labelsOf(c))
      .to.not.include("Redirect URIs")
      .and.not.include("Service account");
    await c.enter("Name", "Television");
    await c.enter("Read only", true);
    await c.submit("Create");
    await c.heading("Television");
    const { oauth2Apps } = await c.world
      .as(c.world.owner)
      .graphql(`{ oauth2Apps(q: "Television") { nodes { grantTypes scopeCeiling } } }`);
    expect(oauth2Apps.nodes[0]!.grantTypes).to.have.members(["DEVICE_CODE", "REFRESH_TOKEN"]);
    expect(oauth2Apps.nodes[0]!.scopeCeiling)
      .to.include("workspace:read")
      .and.not.include("workspace:start")
      .and.not.include("all");
  });

  it("for keys, whose scopes are a tree with a sentence each, and which end within the maximum", async () => {
    const c = console();
    await c.asOwner("/keys");
    await open(c, "Create a key");
    await c.field("Expires").waitFor();
    const choices = await c.field("Expires").locator("option").allInnerTexts();
    expect(choices.map((each) => each.replace(/ \(.*/, ""))).to.deep.equal(["7 days", "30 days", "On a date…"]);
    await c.enter("Name", "chosen");
    await c.enter("Only what I choose", true);
    const tree = c.dialog().getByRole("list", { name: "What it may do" });
    const scopes = await tree.locator("code").evaluateAll((all) => all.map((each) => each.textContent!));
    const sentences = await tree
      .locator("details label > span")
      .evaluateAll((all) => all.map((each) => each.textContent!.trim()));
    const { authScopes } = await c.world.as(c.world.owner).graphql("{ authScopes { external } }");
    const single = authScopes.external.filter((scope) => /:[^*]/.test(scope));
    expect(scopes, "all scopes").to.have.members(single);
    for (const [at, sentence] of sentences.entries()) expect(sentence, scopes[at]).to.match(/^[A-Z][^:_]+\. \w+:\w+$/);
    // Nothing is chosen, which never stands for everything.
    await c.dialog().getByRole("button", { name: "Create", exact: true }).click();
    await c.dialog().getByText("Is required.").waitFor();
    await tree.getByText("Choose of Templates", { exact: true }).press("Enter");
    await tree.getByLabel("See templates.").press("Space");
    await tree.getByLabel("Workspaces", { exact: true }).press("Space");
    await tree.getByText("Everything of Workspaces", { exact: true }).press("Enter");
    expect(await tree.getByLabel("Start workspaces that are stopped.").isChecked(), "a part of it").to.equal(true);
    await c.submit("Create");
    await c.secret();
    const { apiKeys } = await c.world.as(c.world.owner).graphql("{ apiKeys { name scopes expiresAt } }");
    const key = apiKeys.find(({ name }: { name: string }) => name === "chosen");
    expect(key!.scopes).to.have.members(["template:read", "workspace:*"]);
    const days = (Date.parse(key!.expiresAt) - Date.now()) / 86_400_000;
    expect(days).to.be.within(29.9, 30.1);
  });

  it("for keys, which are sent when all that can be chosen has been loaded, unless that fails", async () => {
    const c = console();
    let held = Promise.withResolvers<void>();
    let isFailing = false;
    await c.page.route("**/graphql", async (route) => {
      const operation = /query (Scopes|TokenLifetimes)\b/.exec(route.request().postData() ?? "")?.[1];
      if (!operation) return route.continue();
      await held.promise;
      if (operation === "TokenLifetimes" || !isFailing) return route.continue();
      return route.fulfill({ json: rejection });
    });
    const submit = c.dialog().locator("form footer [type=submit]");
    const submitEarly = async (name: string) => {
      await c.asOwner("/keys");
      await open(c, "Create a key");
      await c.enter("Name", name);
      await c.field("Name").press("Enter");
    };
    await submitEarly("early");
    await c.dialog().getByText("Loading what can be chosen…").waitFor();
    expect(await submit.isDisabled(), "while it waits").to.equal(true);
    held.resolve();
    await c.secret();

    isFailing = true;
    held = Promise.withResolvers();
    await submitEarly("late");
    held.resolve();
    await c.dialog().getByText("Not today.").waitFor();
    await submit.press("Enter");
    isFailing = false;
    await c.dialog().getByRole("button", { name: "Try again" }).click();
    // The form is not sent by itself: the user sees the choices first.
    await c.field("Read only").check();
    await c.submit("Create");
    await c.secret();
    const { apiKeys } = await c.world.as(c.world.owner).graphql("{ apiKeys(kind: TOKEN) { name scopes expiresAt } }");
    const [late, early] = apiKeys.filter(({ name }: { name: string }) => name === "early" || name === "late");
    expect([early!.name, late!.name]).to.deep.equal(["early", "late"]);
    expect(early!.scopes).to.have.members(["all"]);
    expect(late!.scopes).to.not.include("all");
    const days = (Date.parse(early!.expiresAt) - Date.now()) / 86_400_000;
    expect(days, "what the form shows at first").to.be.within(29.9, 30.1);
  });

  it("for what belongs to an organization, once the organizations are known", async () => {
    const c = console();
    let held = Promise.withResolvers<void>();
    await c.page.route("**/graphql", async (route) => {
      if (/query Organizations\b/.test(route.request().postData() ?? "")) await held.promise;
      return route.continue();
    });
    for (const [path, name] of [
      ["/groups", "Create a group"],
      ["/templates", "Create a template"],
      ["/event-endpoints", "Create an endpoint"],
    ] as const) {
      held = Promise.withResolvers();
      const ofView = /query Allowed.*"key":"create"/;
      const permissions = c.page.waitForResponse((response) => ofView.test(response.request().postData() ?? ""));
      await c.asOwner(path);
      await (await permissions).finished();
      expect(await c.button(name).count(), path).to.equal(0);
      held.resolve();
      await c.button(name).waitFor();
    }
  });

  it("for templates, which begin with a document that the server takes, or with a file", async () => {
    const c = console();
    await c.asOwner("/templates");
    await open(c, "Create a template");
    const document = c.field("Document").first();
    const starters = ["A trial", "An agent that speaks AgentAPI", "An agent that speaks ACP", "A machine of your own"];
    const owner = c.world.as(c.world.owner);
    for (const [at, starter] of starters.entries()) {
      await c
        .dialog()
        .getByRole("radio", { name: new RegExp(`^${starter}`) })
        .check();
      const text = JSON.parse(await document.inputValue());
      const variables = (text.variables ?? []).map(({ name }: { name: string }) => ({ name, value: "/opt/program" }));
      expect(
        await c
          .dialog()
          .getByLabel(/^Variable/)
          .count(),
        starter,
      ).to.equal(variables.length);
      const input = { organization: "default", name: `starter-${at}`, document: text, variables };
      await owner.graphql("mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { __typename } }", {
        input,
      });
    }
    const echo = await readFile("examples/agentapi-echo/template.json", "utf8");
    await c
      .field("Choose a file for Document")
      .setInputFiles({ name: "template.json", mimeType: "application/json", buffer: Buffer.from(echo) });
    await c
      .dialog()
      .getByText(/^template\.json, /)
      .waitFor();
    expect(await document.inputValue()).to.equal(echo);
    await c.field("Variable program").waitFor();
    const carried = await c.page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File(['{"schema":"dropped"}'], "dropped.json"));
      return data;
    })()`);
    await c.dialog().locator(".from-file").dispatchEvent("drop", { dataTransfer: carried });
    await c
      .dialog()
      .getByText(/^dropped\.json, /)
      .waitFor();
    expect(await document.inputValue()).to.equal('{"schema":"dropped"}');
    await c
      .field("Choose a file for Document")
      .setInputFiles({ name: "picture.png", mimeType: "image/png", buffer: Buffer.from([137, 0, 1]) });
    await c.dialog().getByText("picture.png is no text.").waitFor();
  });

  it("for SCIM keys, which show the base URL with the token, and whether a request has arrived", async () => {
    const c = console();
    await c.asOwner("/scim-keys");
    await open(c, "Create a key");
    await c.enter("Name", "okta");
    await c.submit("Create");
    await c.dialog().getByText(`${c.home}/scim/v2`, { exact: true }).waitFor();
    const token = await c.dialog().locator(".secret").innerText();
    await c.dialog().getByText("No request has arrived yet.").waitFor();
    await c.dialog().getByText("Steps in Okta").press("Enter");
    await c.dialog().getByText("Press Test Connector Configuration").waitFor();
    await expectAccessible(c.page, "the dialog of a SCIM key");
    await new ScimClient(c.world.nobody, token).get("/Users/missing");
    await c.dialog().getByText("A request has arrived").waitFor();
    await c.dialog().getByRole("button", { name: "Done" }).press("Enter");
    await c.button("Activity of okta").click();
    await c.page.getByRole("region", { name: "Connect okta" }).getByText("A request has arrived").waitFor();
    expect(await c.page.content()).to.not.include(token);
  });

  it("that Escape closes only after a question, if something is filled in", async () => {
    const c = console();
    await c.asOwner("/groups");
    const { keyboard } = c.page;
    await open(c, "Create a group");
    // Opened again by the next key, as fast as keys come.
    for (let times = 0; times < 5; times++) {
      await Promise.all([keyboard.press("Escape"), keyboard.press("Enter")]);
      await c.page.locator("dialog:modal").waitFor();
    }
    await c.field("Name").first().focus();
    await keyboard.type("half-way");
    await keyboard.press("Escape");
    await c.page.getByRole("alertdialog", { name: "Throw away what you filled in?" }).waitFor();
    await keyboard.press("Escape");
    await c.page.getByRole("alertdialog").waitFor({ state: "detached" });
    expect(await c.field("Name").first().inputValue()).to.equal("half-way");
    expect(await c.page.locator(":focus").getAttribute("name"), "where it was").to.equal("name");
    await keyboard.press("Escape");
    await c.page.getByRole("alertdialog").waitFor();
    await expectAccessible(c.page, "the question of a form");
    await keyboard.press("Enter");
    await c.page.getByRole("alertdialog").waitFor({ state: "detached" });
    await keyboard.press("Escape");
    // Its first button has the focus.
    await c.page.getByRole("alertdialog").locator("button:focus").waitFor();
    await keyboard.press("Tab");
    await keyboard.press("Enter");
    await c.dialog().waitFor({ state: "detached" });
  });

  it("after which the focus is where it was, whichever way they end", async () => {
    const c = console();
    await c.asOwner("/groups");
    const hasFocus = (name: string) => c.button(name).and(c.page.locator(":focus")).waitFor();
    await open(c, "Create a group");
    await tabTo(c, "Cancel");
    await c.page.keyboard.press("Enter");
    await hasFocus("Create a group");
    await open(c, "Create a group");
    await c.page.keyboard.press("Escape");
    await hasFocus("Create a group");
    await c.asOwner("/inbox");
    await open(c, "Write to yourself");
    await c.enter("Title", "Focus");
    await c.enter("Message", "It returns.");
    await tabTo(c, "Send");
    await c.page.keyboard.press("Enter");
    await hasFocus("Write to yourself");
    // The form is followed by a secret.
    for (const leave of ["Done", "Close"]) {
      await c.asOwner("/keys");
      await open(c, "Create a key");
      await c.enter("Name", `after-${leave.toLowerCase()}`);
      await c.dialog().locator("form footer [type=submit]").press("Enter");
      await c.dialog().locator(".secret").waitFor();
      if (leave === "Close") await c.page.keyboard.press("Escape");
      await c.dialog().getByRole("button", { name: leave, exact: true }).press("Enter");
      await c.dialog().waitFor({ state: "detached" });
      await hasFocus("Create a key");
    }
  });

  it("that keep a secret which is shown once from a slip of the Escape key, unless it was copied", async () => {
    const c = console();
    await c.visit.grantPermissions(["clipboard-read", "clipboard-write"]);
    const { keyboard } = c.page;
    const question = c.page.getByRole("alertdialog", { name: "It is not shown again. Close without a copy?" });
    const create = async (path: string, name: string) => {
      await c.asOwner(path);
      await open(c, "Create a key");
      await c.enter("Name", name);
      await c.dialog().locator("form footer [type=submit]").press("Enter");
      await c.dialog().locator(".secret").waitFor();
    };
    for (const path of ["/keys", "/scim-keys"]) {
      await create(path, "slipped");
      await keyboard.press("Escape");
      await question.waitFor();
      await expectAccessible(c.page, "the question of a secret");
      await keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      const secret = await c.dialog().locator(".secret").innerText();
      await c
        .dialog()
        .getByRole("button", { name: path === "/keys" ? "Copy" : "Copy Token", exact: true })
        .press("Enter");
      await c
        .dialog()
        .getByRole("button", { name: path === "/keys" ? "Copied" : "Copy Token" })
        .waitFor();
      expect(await c.page.evaluate("navigator.clipboard.readText()")).to.equal(secret);
      await keyboard.press("Escape");
      await c.dialog().waitFor({ state: "detached" });
    }
    await create("/keys", "left");
    await keyboard.press("Escape");
    await question.getByRole("button", { name: "Close" }).press("Enter");
    await c.dialog().waitFor({ state: "detached" });
  });

  it("that keep a secret which is shown once when the session ends, as while it waits for a first request", async () => {
    const c = console();
    const token = await c.world.session(c.world.owner.id);
    await c.openAs({ token }, "/scim-keys");
    await open(c, "Create a key");
    await c.enter("Name", "waiting");
    await c.dialog().locator("form footer [type=submit]").press("Enter");
    await c.dialog().locator(".secret").waitFor();
    await c.world.as({ token }).graphql("mutation { logout { __typename } }");
    await c.page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    expect(await c.page.locator(".secret").innerText()).to.match(/^stwi_/);
  });

  it("whose buttons stay in sight, and never cover the field with the focus", async () => {
    const c = console();
    await c.page.setViewportSize({ width: 360, height: 640 });
    await c.asOwner("/applications");
    await open(c, "Create an application");
    const submit = c.dialog().locator("form footer [type=submit]");
    const isInSight = () =>
      submit.evaluate((button) => {
        const { left, top, bottom } = button.getBoundingClientRect();
        return bottom <= 640 && button.ownerDocument.elementFromPoint(left + 3, top + 3) === button;
      });
    expect(await isInSight()).to.equal(true);
    for (let presses = 0; presses < 40; presses++) {
      await c.page.keyboard.press("Tab");
      const isCovered = await c.page.evaluate(`(() => {
        const focused = document.activeElement;
        if (!focused.closest("dialog form") || focused.closest("footer")) return false;
        return focused.getBoundingClientRect().top > document.querySelector("dialog footer").getBoundingClientRect().top;
      })()`);
      expect(isCovered, `press ${presses}`).to.equal(false);
      expect(await isInSight(), `press ${presses}`).to.equal(true);
      if (await submit.evaluate((button) => button === button.ownerDocument.activeElement)) return;
    }
    throw new Error("The button was not reached.");
  });

  it("that stay when the session ends, until the same user has signed in again", async () => {
    const c = console();
    const ada = await c.world.user("stays");
    await c.openAs(ada, "/secrets");
    await open(c, "Add a secret");
    await c.enter("Name", "kept");
    await c.enter("Value", "a secret that is kept");
    await c.world.as(ada).graphql("mutation { logout { __typename } }");
    await c.dialog().getByRole("button", { name: "Add" }).click();
    const ended = c.page.getByRole("dialog", { name: "Your session has ended" });
    await ended.getByRole("button", { name: "Go on" }).click();
    await ended.getByText("You are not signed in yet.").waitFor();
    await expectAccessible(c.page, "a session that has ended");
    const stored = await c.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    expect(stored).to.not.include("kept");
    c.visit.setDefaultTimeout(60_000);
    const [tab] = await Promise.all([
      c.visit.waitForEvent("page"),
      ended.getByRole("link", { name: "Sign in" }).click(),
    ]);
    await tab.getByLabel("Email").fill(ada.email);
    await tab.getByLabel("Password").fill(userPassword);
    await tab.getByRole("button", { name: "Sign in", exact: true }).click();
    await tab.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
    await tab.close();
    // The page may have noticed by itself: then, there is nothing to press.
    const gone = ended.waitFor({ state: "detached" });
    const pressed = ended.getByRole("button", { name: "Go on" }).click();
    await Promise.race([gone, pressed.catch(() => {})]);
    await gone;
    expect(await c.field("Value").inputValue()).to.equal("a secret that is kept");
    await c.submit("Add");
    await c.row("kept").waitFor();
  });

  interface ByKeyboard {
    path: string;
    form: string;
    /** Labels of fields with what is typed in each. */
    typed: Readonly<Record<string, string>>;
    submit: string;
    shows: (c: Console) => Promise<unknown>;
  }

  const byKeyboard: readonly ByKeyboard[] = [
    {
      path: "/users",
      form: "Create a user",
      typed: { Email: "tabbed@example.com", Username: "tabbed", "First password": "a-first-Password-of-18" },
      submit: "Create",
      shows: (c) => c.heading("tabbed"),
    },
    {
      path: "/groups",
      form: "Create a group",
      typed: { Name: "tabbed-group" },
      submit: "Create",
      shows: (c) => c.heading("tabbed-group"),
    },
    {
      path: "/applications",
      form: "Create an application",
      typed: { Name: "Tabbed", "Redirect URIs": "https://tabbed.example.com/callback" },
      submit: "Create",
      shows: (c) => c.heading("Tabbed"),
    },
    { path: "/keys", form: "Create a key", typed: { Name: "tabbed" }, submit: "Create", shows: doneWithSecret },
    {
      path: "/templates",
      form: "Create a template",
      typed: { Name: "tabbed-template" },
      submit: "Create",
      shows: (c) => c.heading("tabbed-template"),
    },
    { path: "/scim-keys", form: "Create a key", typed: { Name: "tabbed" }, submit: "Create", shows: doneWithSecret },
    {
      path: "/licenses",
      form: "Add a license",
      typed: { License: "no license" },
      submit: "Add",
      // It is rejected, and the field has the focus again.
      shows: (c) => c.field("License").first().and(c.page.locator("[aria-invalid]:focus")).waitFor(),
    },
    { path: "/appearance", form: "Edit", typed: { Name: "Tabbed" }, submit: "Save", shows: (c) => c.text("Tabbed") },
    {
      path: "/inbox",
      form: "Write to yourself",
      typed: { Title: "Tabbed", Message: "By keyboard" },
      submit: "Send",
      shows: (c) => c.notice("It is under way to you."),
    },
    {
      path: "/notification-settings",
      form: "Change email",
      typed: { Server: "smtp.example.com", Sender: "steward@example.com" },
      submit: "Save",
      shows: (c) => c.text("smtp.example.com"),
    },
  ];
  for (const { path, form, typed, submit, shows } of byKeyboard)
    it(`that are filled in by the keyboard alone: ${form} of ${path}`, async () => {
      const c = console();
      await c.asOwner(path);
      await open(c, form);
      for (const [label, text] of Object.entries(typed)) {
        await tabTo(c, label);
        await c.page.keyboard.type(text);
      }
      await tabTo(c, submit);
      await c.page.keyboard.press("Enter");
      await shows(c);
    });

  it("without violations of rules, in light, in the dark, and at 360 pixels", async () => {
    const c = console();
    const forms = {
      "/users": "Create a user",
      "/groups": "Create a group",
      "/applications": "Create an application",
      "/templates": "Create a template",
      "/scim-keys": "Create a key",
      "/licenses": "Add a license",
      "/appearance": "Add a banner",
      "/inbox": "Write to yourself",
      "/notification-settings": "Change email",
    };
    for (const [path, name] of Object.entries(forms)) {
      await c.asOwner(path);
      await open(c, name);
      await expectAccessible(c.page, `form ${name}${path}`);
    }
    await c.asOwner("/keys");
    await open(c, "Create a key");
    await c.enter("Only what I choose", true);
    await c.dialog().getByText("Choose of People", { exact: true }).click();
    await expectAccessible(c.page, "form of a key");
    await c.asOwner("/preferences");
    await c.heading("Preferences");
    await c.page.getByRole("table", { name: "Notifications" }).waitFor();
    await expectAccessible(c.page, "preferences");
  });
});
