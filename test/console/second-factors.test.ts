// The rules about second factors in the console.
import { expect } from "chai";
import { codeOf } from "../support/authenticators.js";
import { consoleTests } from "../support/console.js";
import { userPassword } from "../support/world.js";

const rules = "{ secondFactorRules { role level daysToEnrol } }";

describe("the console, for rules of second factors", () => {
  const console = consoleTests();

  it("shows whom a rule concerns before it is saved, and tells those until when they have to add one", async () => {
    const { world: w, page, asOwner, openAs, row, dialog, submit, enter, text, notice } = console();
    const ada = await w.user("ada");
    await w.grant(ada, "auditor");
    await asOwner("/second-factors");
    await row(/^Auditor/)
      .getByRole("button", { name: "Change" })
      .click();
    await dialog().getByText("1 person with a password, of whom 1 have no second factor.").waitFor();
    await enter("Second factor", "People must have one");
    await enter("Days to add one", "5");
    await submit();
    await notice("Saved.");
    await row(/Auditor.*Required, within 5 days/).waitFor();
    const { secondFactorRules } = await w.as(w.owner).graphql(rules);
    expect(secondFactorRules.at(-1)).to.deep.equal({ role: "AUDITOR", level: "REQUIRED", daysToEnrol: 5 });

    await openAs(ada, "/");
    await text(/Your account requires a second factor\. Add one in [45] days at the latest/);
    await page.getByRole("link", { name: "Add one" }).click();
    await page.getByText(/add it in [45] days at the latest/).waitFor();
  });

  it("lets an organization have a rule of its own, and leads from everywhere to what has to be added", async () => {
    const { world: w, page, openAs, button, submit, enter, text, dialog } = console();
    const there = await w.organization();
    const [admin, bob] = [await w.user("admin"), await w.user("bob", [w.defaultOrganization, there.id])];
    await w.grant(admin, "organization-admin");
    await openAs(admin, `/organizations/${w.defaultOrganization}`);
    await button("Change the rule").click();
    await dialog()
      .getByText(/have no second factor/)
      .waitFor();
    await enter("Second factor", "People must have one");
    await enter("Days to add one", "9");
    await submit();
    await text("Required, within 9 days");
    const setThere = `mutation($input: SetOrganizationSecondFactorRuleInput!) { setOrganizationSecondFactorRule(input: $input) { __typename } }`;
    await w.as(w.owner).graphql(setThere, { input: { organization: there.id, level: "REQUIRED", daysToEnrol: 0 } });
    w.app.services.credentials.onChange(`u:${bob.id}`);
    await openAs(bob, "/workspaces");
    await page.waitForURL(/\/account\/second-factor\?return_to=%2Fworkspaces/);
    await page.getByText("Your account requires a second factor. Add one, and you can go on.").waitFor();
  });

  it("is reached by the sign-in page after the period, which leads to adding one, and then to the console", async () => {
    const { world: w, page, open, text } = console();
    const eve = await w.user("eve");
    await w.grant(eve, "template-admin");
    const set = `mutation($input: SetSecondFactorRuleInput!) { setSecondFactorRule(input: $input) { __typename } }`;
    await w.as(w.owner).graphql(set, { input: { role: "TEMPLATE_ADMIN", level: "REQUIRED", daysToEnrol: 0 } });
    await open("/login?return_to=/keys");
    await page.getByLabel("Email").fill(eve.email);
    await page.getByLabel("Password").fill(userPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(/\/account\/second-factor\?return_to=%2Fkeys/);
    await page.getByLabel("Password").fill(userPassword);
    await page.getByRole("button", { name: "Add an authenticator" }).click();
    const key = (await page.locator("main code").innerText()).replaceAll(" ", "");
    await page.getByLabel("Code").fill(codeOf(key));
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("link", { name: "I have kept them" }).click();
    await page.waitForURL(/\/keys$/);
    await text("Password and authenticator");
  });
});
