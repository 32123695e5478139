// Applications, their grants, and what users link, in the console.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";
import { sendForm } from "../support/oauth2.js";

describe("the console shows applications", () => {
  const console = consoleTests();

  const serviceAccount = async (username: string) => {
    const { world } = console();
    const { createUser } = await world
      .as(world.owner)
      .graphql(`mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`, {
        input: { username, email: `${username}@example.com`, isServiceAccount: true },
      });
    return createUser.user.id as string;
  };

  it("that act as a service account, which is found by its name", async () => {
    const { world, page, asOwner, button, dialog, enter, submit, field, heading, text, fill, secret } = console();
    await serviceAccount("robot");
    await serviceAccount("another-robot");
    const ada = await world.user("ada");
    await asOwner("/applications");
    await button("Create an application").click();
    await enter("Name", "Robots");
    await enter("Client credentials", true);
    const create = dialog().getByRole("button", { name: "Create", exact: true });
    const account = field(/^Service account/);
    await create.click();
    await dialog().getByText("Is required for the grant type of client credentials.").waitFor();
    await account.fill("no-such-account");
    await create.click();
    await dialog().getByText("Must be the username of a service account.").waitFor();
    expect(await account.getAttribute("aria-invalid")).to.equal("true");
    await account.fill("robot");
    await dialog().locator('datalist option[value="another-robot"]').waitFor({ state: "attached" });
    await enter("Redirect URIs", "https://robots.example.com/back");
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
      return (await world.as({ token: body.access_token }).graphql("{ me { username } }")).me.username as string;
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
});
