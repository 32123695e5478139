// Providers of sign-in in the console: how owners add, test, and delete them, and how people link identities.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";
import { ForgingProvider } from "../support/forging-provider.js";

describe("the console shows providers of sign-in", () => {
  const console = consoleTests();

  it("which owners add, change, order, and delete", async () => {
    const { world: w, page, asOwner, button, dialog, field, submit, main } = console();
    const names = () => main().locator("tbody td:first-child .faint:not(.block)").allInnerTexts();
    await asOwner("/sign-in-providers");
    for (const name of ["first", "second"]) {
      await button("Add a provider").click();
      await field(/^Name/).fill(name);
      await dialog().getByRole("button", { name: "Add", exact: true }).click();
      // Faults are next to their fields.
      await page.locator("[aria-invalid]").first().waitFor();
      await field("Issuer").fill(`https://${name}.example.com`);
      await field("Client ID").fill("steward");
      await field("Client secret").fill("a secret");
      await field("Email domains").fill("example.com");
      await field("Second factors there, by amr").fill("mfa");
      await submit("Add");
      await dialog().getByText(`/login/${name}/callback`).waitFor();
      // The form shows it as well: nothing is lost, and nothing asks.
      expect(await dialog().innerText())
        .to.contain("Its form here shows it as well.")
        .and.not.contain("not shown again");
      if (name === "first") await dialog().getByRole("button", { name: "Done" }).click();
      else await page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
      await main().getByText(`https://${name}.example.com`).waitFor();
    }
    expect(await names()).to.deep.equal(["first", "second"]);
    const { identityProviders } = await w.as(w.owner).graphql("{ identityProviders { factorMethods factorContexts } }");
    expect(identityProviders[0]).to.deep.equal({ factorMethods: ["mfa"], factorContexts: [] });
    await button("Move up second").click();
    await main().locator("tbody tr").first().getByText("second", { exact: true }).waitFor();
    expect(await names()).to.deep.equal(["second", "first"]);

    await button("Delete first").click();
    await dialog().getByText("No person loses the only way to sign in.").waitFor();
    await dialog().getByRole("button", { name: "Delete", exact: true }).click();
    await main().getByText("https://first.example.com").waitFor({ state: "detached" });
    expect(await names()).to.deep.equal(["second"]);
  });

  it("and test, to see why nothing comes back", async () => {
    const { world: w, page, asOwner, button } = console();
    const provider = await ForgingProvider.open();
    await w
      .as(w.owner)
      .graphql(
        `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { __typename } }`,
        { input: { name: "tested", kind: "OIDC", issuer: provider.issuer, clientId: "steward", clientSecret: "x" } },
      );
    await asOwner("/sign-in-providers");
    await button("Test tested").click();
    // This server may not call the machine on which it runs.
    await page.getByRole("heading", { name: "The identity provider failed." }).waitFor();
    await asOwner("/sign-in-providers");
    await page.getByText("The identity provider failed.").waitFor();
    await provider.close();
  });
});
