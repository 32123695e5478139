// The console where a change takes a recent proof of who the user is.
// Reaches for tables: no test waits ten minutes.
import { expect } from "chai";
import { addAuthenticator } from "../support/authenticators.js";
import { consoleTests } from "../support/console.js";
import { letPass } from "../support/tables.js";

describe("the console, after the last proof of who the user is has become old", () => {
  const console = consoleTests();

  it("asks for a code, and goes on with what the user had filled in", async () => {
    const { world: w, page, openAs, button } = console();
    const ada = await w.user("ada");
    const { recoveryCodes } = await addAuthenticator(w.as(ada));
    await letPass(w, "api_keys", { user_id: ada.id }, "11 min", ["created_at", "proved_at"]);
    w.app.services.credentials.onChange(`u:${ada.id}`);

    await openAs(ada, "/keys");
    await button("Create a key").click();
    await page.getByRole("dialog").getByLabel("Name").fill("deploy");
    await page.getByRole("dialog").locator("[type=submit]").click();
    const asked = page.getByRole("dialog", { name: "Prove again who you are" });
    await asked.getByLabel("Code of your authenticator").fill("000000");
    await asked.getByRole("button", { name: "Go on" }).click();
    await asked.getByText("Is wrong, or was used before.").waitFor();
    await asked.getByLabel("Code of your authenticator").fill(recoveryCodes[0]!);
    await asked.getByRole("button", { name: "Go on" }).click();
    await page
      .locator("code.secret")
      .getByText(/^stw_ak_/)
      .waitFor();
    const { apiKeys } = await w.as(ada).graphql("{ apiKeys(kind: TOKEN) { name } }");
    expect(apiKeys).to.deep.equal([{ name: "deploy" }]);
  });

  it("changes nothing if the user closes the question", async () => {
    const { world: w, page, openAs, button } = console();
    const ada = await w.user("ada");
    await addAuthenticator(w.as(ada));
    await letPass(w, "api_keys", { user_id: ada.id }, "11 min", ["created_at", "proved_at"]);
    w.app.services.credentials.onChange(`u:${ada.id}`);
    await openAs(ada, "/keys");
    await button("Create a key").click();
    await page.getByRole("dialog").getByLabel("Name").fill("deploy");
    await page.getByRole("dialog").locator("[type=submit]").click();
    const asked = page.getByRole("dialog", { name: "Prove again who you are" });
    await asked.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").getByText("Prove again who you are.").waitFor();
    expect(await page.getByRole("dialog").getByLabel("Name").inputValue(), "it is still filled in").to.equal("deploy");
    expect((await w.as(ada).graphql("{ apiKeys(kind: TOKEN) { name } }")).apiKeys).to.deep.equal([]);
  });
});
