// The logo in the console, as a file that is chosen or dropped.
import { expect } from "chai";
import { expectAccessible } from "../support/accessibility.js";
import { consoleTests } from "../support/console.js";
import { beginning, png } from "../support/pictures.js";
import { eventually } from "../support/watchers.js";

describe("the console takes the logo", () => {
  const console = consoleTests();

  /** Opens the form, and the logo in it. */
  async function edit() {
    const c = console();
    await c.asOwner("/appearance");
    await c.button("Edit").press("Enter");
    return c.field("Choose a file for the picture");
  }

  /** The color of an image as the browser shows it. */
  const colorOf = (selector: string) =>
    console().page.evaluate(`(async () => {
      const image = document.querySelector(${JSON.stringify(selector)});
      await image.decode();
      const canvas = document.createElement("canvas");
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    })()`);

  const stored = async () => {
    const { world } = console();
    return (await world.as(world.owner).graphql("{ appearance { applicationName logoUrl } }")).appearance;
  };

  it("as a file that is chosen by keyboard, and shows it in the shell and where visitors sign in", async () => {
    const c = console();
    const chooser = await edit();
    // Well before the key: the browser needs a moment until it hands over its choosers.
    const opening = c.page.waitForEvent("filechooser");
    await c.enter("Name", "Larkspur");
    await c.field("Logo").focus();
    await c.page.keyboard.press("Tab");
    await c.page.keyboard.press("Enter");
    const opened = await opening;
    await opened.setFiles({ name: "red.png", mimeType: "image/png", buffer: png(200, 0, 0) });
    await c
      .dialog()
      .getByText(/^red\.png, /)
      .waitFor();
    expect(await colorOf(".picture img"), "before it is sent").to.deep.equal([200, 0, 0]);
    await expectAccessible(c.page, "the form with a picture");
    // The content is no text to go to.
    await c.dialog().locator("[name=logoUrl]").focus();
    expect(await chooser.evaluate((element) => element === element.ownerDocument.activeElement)).to.equal(true);
    await c.page.keyboard.press("Escape");
    await c.page.getByRole("button", { name: "Keep it" }).waitFor();
    await c.page.keyboard.press("Escape");
    await c.submit("Save");
    await c.page.locator(`.brand img[src^="${c.home}/logos/"]`).waitFor();
    expect(await colorOf(".brand img")).to.deep.equal([200, 0, 0]);
    await expectAccessible(c.page, "the appearance with a logo");

    const { logoUrl } = await stored();
    await c.fill("Add a banner", { Message: "Maintenance at noon" }, "Add");
    await c.page.locator("p.banner", { hasText: "Maintenance at noon" }).waitFor();
    await c.fill("Edit", { Name: "Foxglove" }, "Save");
    await c.page.getByRole("link", { name: "Foxglove" }).waitFor();
    expect(await stored(), "after other changes").to.deep.equal({ applicationName: "Foxglove", logoUrl });
    await c.page.locator("p.banner", { hasText: "Maintenance at noon" }).waitFor();

    await c.page.goto("about:blank");
    await c.visit.clearCookies();
    await c.open("/login");
    expect(await colorOf("header img")).to.deep.equal([200, 0, 0]);
  });

  it("as a file that is dropped, and removes it", async () => {
    const c = console();
    await edit();
    const carried = await c.page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(${JSON.stringify([...png(0, 0, 200)])})], "blue.png", { type: "image/png" }));
      return data;
    })()`);
    await c.dialog().locator(".from-file").dispatchEvent("drop", { dataTransfer: carried });
    await c
      .dialog()
      .getByText(/^blue\.png, /)
      .waitFor();
    await c.submit("Save");
    // While the pictures change, there may be none, or one without its content.
    const isBlue = () =>
      colorOf(".picture img").then(
        (color) => String(color) === "0,0,200",
        () => false,
      );
    await eventually(isBlue, "the new logo in the place of the one before");

    await c.button("Edit").click();
    await c.dialog().getByRole("button", { name: "Remove the picture" }).press("Enter");
    expect(await c.field("Logo").inputValue()).to.equal("");
    await c.submit("Save");
    await c.page.locator(".picture img").waitFor({ state: "detached" });
    expect((await stored()).logoUrl).to.equal("");
    await c.fill("Edit", { Logo: "/own.png" }, "Save");
    await c.page.locator(`.picture img[src="/own.png"]`).waitFor();
    await c.fill("Edit", { Logo: "" }, "Save");
    await c.page.locator(".picture img").waitFor({ state: "detached" });
  });

  it("and says what is wrong with a file", async () => {
    const c = console();
    const { logoUrl } = await stored();
    const chooser = await edit();
    await chooser.setInputFiles({ name: "a.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg/>") });
    await c.dialog().getByText("a.svg is no PNG, JPEG, or WebP file.").waitFor();
    const fault = c.dialog().locator(".fault");
    const files = {
      "Must be empty, a path on this server": beginning("\x89PNG\r\n\x1a\n", 200_000),
      "Must be a file of the type that the data URL names": Buffer.from("<html>"),
    };
    for (const [sentence, buffer] of Object.entries(files)) {
      await chooser.setInputFiles({ name: "a.png", mimeType: "image/png", buffer });
      await c
        .dialog()
        .getByText(/^a\.png, /)
        .waitFor();
      await c.dialog().getByRole("button", { name: "Save", exact: true }).click();
      await fault.getByText(sentence).waitFor();
      await expectAccessible(c.page, `the form with a fault: ${sentence}`);
    }
    expect((await stored()).logoUrl).to.equal(logoUrl);
  });
});
