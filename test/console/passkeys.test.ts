// Passkeys in a real browser, whose authenticator is virtual: on the pages of sign-in and of the account, and in the console.
// Reaches for tables: no test waits ten minutes.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";
import { letPass } from "../support/tables.js";
import { type Person, userPassword } from "../support/world.js";

const page = "/account/second-factor";
const factors = "{ secondFactors { recoveryCodesLeft passkeys { id name transports lastUsedAt } } }";

describe("passkeys in a browser", () => {
  const console = consoleTests({
    STEWARD_REMEMBERED_DEVICES: "30d",
    STEWARD_RATE_LIMIT_CREDENTIAL: "0",
    STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0",
  });

  /** The authenticator of a device that knows who uses it, and keeps passkeys. */
  const device = {
    protocol: "ctap2",
    transport: "internal",
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const;

  /** A security key of an older kind. */
  const securityKey = { protocol: "u2f", transport: "usb" } as const;

  /** Gives the browser an authenticator that is always touched. */
  async function plugIn(
    kind: (Omit<typeof device, "transport"> & { transport: "internal" | "usb" }) | typeof securityKey = device,
  ): Promise<void> {
    const session = await console().visit.newCDPSession(console().page);
    await session.send("WebAuthn.enable");
    await session.send("WebAuthn.addVirtualAuthenticator", {
      options: { ...kind, automaticPresenceSimulation: true },
    });
  }

  const press = (name: string) => console().page.getByRole("button", { name, exact: true }).click();
  const says = (text: string) => console().page.getByText(text).first().waitFor();

  /** Adds a passkey on the page of the account. */
  async function addOnPage(person: Person): Promise<void> {
    const { openAs, page: at } = console();
    await openAs(person, page);
    await at.getByLabel("Password").fill(userPassword);
    await press("Add a passkey");
    await at.getByLabel("Name of the passkey").fill("My laptop");
    await press("Create the passkey");
    await says("Your passkey is added.");
  }

  async function signOut(): Promise<void> {
    await console().visit.clearCookies();
    await console().open(`/login?return_to=${page}`);
  }

  const letProofsAge = async (person: Person) => {
    const { world: w } = console();
    await letPass(w, "api_keys", { user_id: person.id }, "11 min", ["created_at", "proved_at"]);
    w.app.services.credentials.onChange(`u:${person.id}`);
  };

  it("are added, and sign in without a password", async () => {
    const { world: w, page: at } = console();
    const ada = await w.user("ada");
    await plugIn();
    await addOnPage(ada);
    const { secondFactors } = await w.as(ada).graphql(factors);
    expect(secondFactors.passkeys).to.deep.equal([
      { id: secondFactors.passkeys[0]!.id, name: "My laptop", transports: ["internal"], lastUsedAt: null },
    ]);
    await signOut();
    await press("Sign in with a passkey");
    await says("My laptop");
    expect(new URL(at.url()).pathname).to.equal(page);
    expect(await at.locator("li").getByText("Last used").innerText()).to.contain("just now");
  });

  it("complete a sign-in with the password, also by security keys that do not know who uses them, and have the browser remembered", async () => {
    const { world: w, page: at } = console();
    const ada = await w.user("ada");
    await plugIn(securityKey);
    await addOnPage(ada);
    await signOut();
    await at.getByLabel("Email").fill(ada.email);
    await at.getByLabel("Password").fill(userPassword);
    await press("Sign in");
    await says("Enter your code");
    await at.getByLabel("In this browser, do not ask again for 30 days").check();
    await press("Use a passkey");
    await says("Remembered browsers");

    await console().visit.clearCookies({ name: "service_session_token" });
    await console().open(`/login?return_to=${page}`);
    await at.getByLabel("Email").fill(ada.email);
    await at.getByLabel("Password").fill(userPassword);
    await press("Sign in");
    await says("Last used just now");
    await press("Forget");
    await says("The browser is forgotten.");
  });

  it("prove who the user is on the page of the account, which goes on then", async () => {
    const { world: w, page: at, openAs } = console();
    const ada = await w.user("ada");
    await plugIn();
    await addOnPage(ada);
    await letProofsAge(ada);
    await openAs(ada, page);
    await at.getByRole("link", { name: "Rename" }).click();
    await at.getByLabel("Name of the passkey").fill("Old laptop");
    await press("Rename");
    await says("Your passkey is renamed.");
    await says("Old laptop");
    await press("Remove");
    await says("Prove again who you are");
    await press("Use a passkey");
    await says("Your passkey is removed.");
    expect((await w.as(ada).graphql(factors)).secondFactors).to.deep.equal({ recoveryCodesLeft: 0, passkeys: [] });
  });

  it("prove it in the console, which goes on with what the user had filled in", async () => {
    const { world: w, page: at, openAs, button } = console();
    const ada = await w.user("ada");
    await plugIn();
    await addOnPage(ada);
    await letProofsAge(ada);
    await openAs(ada, "/keys");
    await button("Create a key").click();
    await at.getByRole("dialog").getByLabel("Name").fill("deploy");
    await at.getByRole("dialog").locator("[type=submit]").click();
    const asked = at.getByRole("dialog", { name: "Prove again who you are" });
    await asked.getByLabel("Code of your authenticator").waitFor();
    await asked.getByRole("button", { name: "Use a passkey" }).click();
    await at
      .locator("code.secret")
      .getByText(/^stw_ak_/)
      .waitFor();
  });

  it("are listed, added, renamed, and removed in the console", async () => {
    const { world: w, openAs, button, row, gone, fill, dialog } = console();
    const ada = await w.user("ada");
    await plugIn();
    await addOnPage(ada);
    await openAs(ada, "/keys");
    await row("My laptop", "Passkeys").waitFor();
    // One authenticator makes one passkey for each account.
    await plugIn({ ...device, transport: "usb" });
    await button("Add a passkey").click();
    await dialog().getByLabel("Name").fill("Phone");
    await dialog().locator("[type=submit]").click();
    await row("Phone", "Passkeys").waitFor();
    await fill("Rename Phone", { Name: "My phone" });
    await row("My phone", "Passkeys").waitFor();
    await fill("Remove My phone", {});
    await gone("My phone", "Passkeys");
    expect((await w.as(ada).graphql(factors)).secondFactors.passkeys).to.have.length(1);
  });
});
