// The claims of a provider in the console: a form with the keyboard alone, faults at their fields, JSON, and a trial.
import { expect } from "chai";
import type { Locator } from "playwright-core";
import { expectAccessible } from "../support/accessibility.js";
import { consoleTests } from "../support/console.js";
import { ForgingProvider } from "../support/forging-provider.js";
import { signInWith, Visitor } from "../support/provider-visits.js";
import { client } from "../support/providers.js";
import type { Anything } from "../support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { __typename } }`;
const stored = `query($provider: String!) { identityProvider(provider: $provider) {
  claimMappings { claim separator absent empty malformed grants { values groups organization roles } groupsOf groupPattern mostNewGroups }
  appliesClaims locksGroups } }`;

describe("the claims of a provider in the console", () => {
  const console = consoleTests({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let provider: ForgingProvider;
  let name = "";
  let made = 0;
  const owner = () => console().world.as(console().world.owner);

  beforeEach(async () => {
    made += 1;
    name = `company-${made}`;
    provider = await ForgingProvider.open();
    const { issuer } = provider;
    await owner().graphql(create, {
      input: {
        name,
        kind: "OIDC",
        displayName: "Company",
        issuer,
        clientId: client.id,
        clientSecret: client.secret,
        emailDomains: ["example.com"],
      },
    });
  });
  afterEach(() => provider.close());

  const read = async () => (await owner().graphql(stored, { provider: name })).identityProvider;
  const open = async () => {
    await console().asOwner("/sign-in-providers");
    await console().link(`Claims ${name}`).click();
    await console().heading("Claims of Company");
  };
  const claim = (title: string): Locator =>
    console()
      .main()
      .getByRole("group", { name: `Claim ${title}`, exact: true });
  const save = async () => {
    await console().button("Save").click();
    await console().main().getByText("Not saved yet").waitFor({ state: "detached" });
  };

  /** Goes on with the Tab key until something has the focus. */
  async function tabTo(wanted: Locator): Promise<void> {
    const { page } = console();
    for (let presses = 0; presses < 60; presses++) {
      if ((await wanted.and(page.locator(":focus")).count()) > 0) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`The Tab key does not reach ${String(wanted)}.`);
  }

  it("are filled in with the keyboard alone: rules, groups, organizations, roles, and what happens without them", async () => {
    const { page, world: w, button, main } = console();
    const [team, lab] = [await w.group(`team-${made}`), await w.organization(`lab-${made}`)];
    await open();
    const type = (text: string) => page.keyboard.type(text);
    const press = (key: string) => page.keyboard.press(key);
    await tabTo(button("Add a claim"));
    await press("Enter");
    await claim("New claim").getByLabel("Claim", { exact: true }).and(page.locator(":focus")).waitFor();
    await type("realm_access.roles");
    const card = claim("realm_access.roles");
    await tabTo(card.getByLabel("Separator"));
    await type(",");
    await tabTo(card.getByLabel("People with one of these values"));
    await type("engineers");
    await press("Enter");
    await type("build crew");
    await tabTo(card.getByLabel("Join the groups"));
    await type(team.name);
    await card.getByRole("list", { name: "Found groups" }).getByRole("button", { name: team.name }).waitFor();
    await press("Enter");
    await card.getByRole("button", { name: `Without the group ${team.name}` }).waitFor();
    await tabTo(card.getByLabel("Owner"));
    await tabTo(card.getByLabel("Auditor"));
    await press("Space");
    await tabTo(card.getByRole("button", { name: "Add a rule to realm_access.roles" }));
    await press("Enter");
    const second = card.getByRole("group", { name: "Rule 2", exact: true });
    await second.getByLabel("People with one of these values").and(page.locator(":focus")).waitFor();
    await type("lab");
    await tabTo(second.getByLabel("Join the organization"));
    await type(lab.name);
    // The roles are those of the organization now.
    await tabTo(second.getByLabel("Template admin"));
    await press("Space");
    await tabTo(card.getByLabel("In the organization", { exact: true }));
    await press("ArrowDown");
    await tabTo(card.getByLabel("Values that count"));
    await press("Control+A");
    await type("eng-*");
    await tabTo(card.getByLabel("Make missing ones, up to"));
    await type("20");
    // By one letter: browsers take the next one for the first of another word if it comes a second later.
    await tabTo(card.getByLabel("If it is absent"));
    await type("T");
    await tabTo(card.getByLabel("If it is empty"));
    await type("K");
    await tabTo(main().getByLabel("Groups that it made are locked"));
    await press("Space");
    await tabTo(button("Save"));
    await press("Enter");
    await console().notice("Saved.");
    const { claimMappings, appliesClaims, locksGroups } = await read();
    expect({ appliesClaims, locksGroups }).to.deep.equal({ appliesClaims: false, locksGroups: true });
    expect(claimMappings).to.deep.equal([
      {
        claim: "realm_access.roles",
        separator: ",",
        absent: "REMOVE",
        empty: "KEEP",
        malformed: "KEEP",
        grants: [
          { values: ["engineers", "build crew"], groups: [team.id], organization: "", roles: ["AUDITOR"] },
          { values: ["lab"], groups: [], organization: lab.id, roles: ["ORGANIZATION_TEMPLATE_ADMIN"] },
        ],
        groupsOf: w.defaultOrganization,
        groupPattern: "eng-*",
        mostNewGroups: 20,
      },
    ]);
    // What is removed leaves the focus where something can be added.
    await card.getByRole("button", { name: "Remove rule 1" }).focus();
    await press("Enter");
    await card.getByRole("button", { name: "Add a rule to realm_access.roles" }).and(page.locator(":focus")).waitFor();
    await card.getByRole("button", { name: "Remove the claim realm_access.roles" }).focus();
    await press("Enter");
    await button("Add a claim").and(page.locator(":focus")).waitFor();
    await save();
    expect((await read()).claimMappings).to.deep.equal([]);
  });

  it("show the faults that the server finds at their fields, and those that are left after them", async () => {
    const { page, button, main } = console();
    await open();
    await button("Add a claim").click();
    await claim("New claim").getByLabel("Claim", { exact: true }).fill("my groups");
    const card = claim("my groups");
    const rule = card.getByRole("group", { name: "Rule 1", exact: true });
    await rule.getByLabel("Auditor").check();
    await card.getByLabel("In the organization", { exact: true }).selectOption({ index: 1 });
    await card.getByLabel("Make missing ones, up to").fill("many");
    const describedBy = async (field: Locator) =>
      page.locator(`[id="${await field.getAttribute("aria-describedby")}"]`).innerText();
    await button("Save").click();
    await card.getByText("Must be a whole number").waitFor();
    await card.getByLabel("Make missing ones, up to").and(page.locator(":focus")).waitFor();
    await card.getByLabel("Make missing ones, up to").fill("2000");
    await button("Save").click();
    await card.getByText("Must be the name of a claim").waitFor();
    expect(await describedBy(card.getByLabel("Claim", { exact: true }))).to.contain("Must be the name of a claim");
    expect(await describedBy(rule.getByLabel("People with one of these values"))).to.contain(
      "Must be 1 to 100 values.",
    );
    expect(await describedBy(card.getByLabel("Make missing ones, up to"))).to.contain("1000");
    await card.getByLabel("Claim", { exact: true }).and(page.locator(":focus")).waitFor();
    expect(await main().locator(".alarm").count()).to.equal(0);
    await card.getByLabel("Claim", { exact: true }).fill("groups");
    await claim("groups").getByLabel("Make missing ones, up to").fill("5");
    await claim("groups").getByLabel("People with one of these values").fill("a");
    await button("Add a claim").click();
    await claim("New claim").getByLabel("Claim", { exact: true }).fill("groups");
    await button("Save").click();
    await main().getByText("Is mapped already.").waitFor();
    await claim("groups").last().getByRole("button", { name: "Remove the claim groups" }).click();
    await save();
    expect(await page.locator("[aria-invalid]").count()).to.equal(0);
  });

  it("can be edited as JSON, and turned back into the form", async () => {
    const { page, button, main } = console();
    await open();
    await button("Edit as JSON").click();
    const text = main().getByLabel("Claims in JSON");
    expect(await text.inputValue()).to.equal("[]");
    await text.fill("[groups]");
    await button("Save").click();
    await main().getByText("Is not JSON").waitFor();
    await text.fill(`[{ "claim": "groups", "grants": [{ "values": ["a"], "roles": ["ORGANIZATION_ADMIN"] }] }]`);
    await button("Save").click();
    await main().getByText("claimMappings[0].grants[0].roles[0]: Must be a role of the deployment.").waitFor();
    await text.fill(`[{ "claim": "groups", "color": "red" }]`);
    await button("Edit in the form").click();
    await main().getByText("The form cannot show claimMappings[0].color.").waitFor();
    await text.fill(
      `[{ "claim": "groups", "grants": [{ "values": ["a", "b"], "roles": ["AUDITOR"] }], "absent": null }]`,
    );
    await button("Edit in the form").click();
    const rule = claim("groups").getByRole("group", { name: "Rule 1", exact: true });
    expect(await rule.getByLabel("People with one of these values").inputValue()).to.equal("a\nb");
    expect(await rule.getByLabel("Auditor").isChecked()).to.equal(true);
    await rule.getByLabel("Owner").check();
    await button("Edit as JSON").click();
    expect(JSON.parse(await text.inputValue())).to.deep.equal([
      { claim: "groups", grants: [{ values: ["a", "b"], roles: ["OWNER", "AUDITOR"] }] },
    ]);
    await save();
    expect((await read()).claimMappings[0]!.grants[0]!.roles).to.deep.equal(["OWNER", "AUDITOR"]);
    await page.reload();
    await claim("groups").waitFor();
  });

  it("are tried on the last sign-ins as the form has them, for all or for one person, before they are saved", async () => {
    const { page, world: w, main, button } = console();
    const team = await w.group(`explorers-${made}`);
    await owner().graphql(update, { input: { provider: name, claimMappings: [{ claim: "groups" }] } });
    const names = ["ada", "bob"].map((each) => `${each}-${made}`);
    for (const each of names) {
      const groups = each.startsWith("ada") ? ["engineers"] : ["sailors"];
      const claims = { sub: each, email: `${each}@example.com`, preferred_username: each, groups };
      expect((await signInWith(new Visitor(console().home), name, provider, claims)).status).to.equal(303);
    }
    await open();
    const trial = main().getByRole("region", { name: "What would change" });
    await button("Try it").click();
    await trial.getByText("Nothing would change.").waitFor();
    const card = claim("groups");
    await card.getByRole("button", { name: "Add a rule to groups" }).click();
    await card.getByLabel("People with one of these values").fill("engineers");
    await trial.getByText("The form has changed since.").waitFor();
    await card.getByLabel("Join the groups").fill(team.name);
    await card.getByRole("button", { name: team.name }).click();
    await button("Try it").click();
    await trial.getByText("1 of 2 people would change.").waitFor();
    await trial.getByText(`joins the group ${team.name} (groups: engineers)`).waitFor();
    await expectAccessible(page, "claims of a provider");
    await trial.getByLabel("Person").fill(names[1]!);
    await button("Try it").click();
    await trial.getByText("Nothing would change.").waitFor();
    expect(await trial.locator(".people > li").count()).to.equal(1);
    await trial.getByLabel("Person").fill("unknown-person");
    await button("Try it").click();
    await main().getByRole("alert").getByText("not found", { exact: false }).waitFor();
    await trial.getByLabel("Person").fill("");
    // Faults of what is tried are at their fields, too.
    await card.getByLabel("People with one of these values").fill("");
    await button("Try it").click();
    await card.getByText("Must be 1 to 100 values.").waitFor();
    expect((await read()).claimMappings[0]!.grants, "nothing was saved").to.deep.equal([]);
    const { group } = await owner().graphql(`query($id: String!) { group(group: $id) { totalMemberCount } }`, {
      id: team.id,
    });
    expect(group.totalMemberCount).to.equal(0);
  });

  it("are shown with all that they give, and fit narrow screens", async () => {
    const { page, world: w } = console();
    const [team, crew] = [await w.group(`platform-engineering-and-more-${made}`), await w.group(`sailors-${made}`)];
    const lab = await w.organization(`laboratory-${made}`);
    const claimMappings: Anything[] = [
      {
        claim: "groups",
        grants: [
          { values: ["engineers", "build crew"], groups: [team.id, crew.id], roles: ["TEMPLATE_ADMIN"] },
          { values: ["3f0d6f0e-8a7e-4a47-9d3c-2f8f5a1f6f11"], organization: lab.id, roles: ["ORGANIZATION_AUDITOR"] },
        ],
        groupsOf: "default",
        groupPattern: "eng-*",
        mostNewGroups: 50,
      },
      { claim: "department", separator: ";", absent: "REMOVE", grants: [{ values: ["R&D"], organization: lab.id }] },
    ];
    await owner().graphql(update, { input: { provider: name, claimMappings } });
    await open();
    await claim("groups").getByText(team.name).waitFor();
    await expectAccessible(page, "claims with rules");
    await page.setViewportSize({ width: 360, height: 800 });
    await console().button("Edit as JSON").click();
    await expectAccessible(page, "claims as JSON");
  });
});

describe("the claims of a provider that the server declares", () => {
  const console = consoleTests({
    STEWARD_OIDC_ISSUER_URL: "https://id.example.com",
    STEWARD_OIDC_CLIENT_ID: "steward",
    STEWARD_OIDC_CLIENT_SECRET: "a secret",
  });

  it("are shown, and cannot be changed", async () => {
    const { asOwner, heading, text, button, main } = console();
    await asOwner("/sign-in-providers/oidc/claims");
    await heading(/^Claims of /);
    await text("The settings of the server declare this provider.");
    await button("Try it").waitFor();
    expect(await main().getByRole("button", { name: "Add a claim" }).isDisabled()).to.equal(true);
    expect(await main().getByRole("button", { name: "Save" }).count()).to.equal(0);
  });
});
