// Event endpoints in the console: made, tested, read, and paused.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";
import { EventReceiver, fail, signedBy, toThisMachine } from "../support/event-receiver.js";
import { eventually } from "../support/watchers.js";

describe("event endpoints in the console", () => {
  const console = consoleTests(toThisMachine);
  let receiver: EventReceiver;

  before(async () => {
    receiver = await EventReceiver.open();
  });
  after(() => receiver.close());

  it("are created with a secret, tested, paused, and resumed, and have a log whose events are sent again", async () => {
    const c = console();
    const { world: w, asOwner, fill, secret, row, button, link, text, heading } = c;
    await asOwner("/event-endpoints");
    await text("No endpoint. Create one to tell another program what happens here.");
    await fill("Create an endpoint", { Name: "Chat", Address: receiver.url, Group: true }, "Create");
    const shown = await secret();
    await link("Chat").click();
    await heading("Chat");
    await button("Send a test").click();
    await eventually(() => receiver.received.length === 1, "the test arrives", 15_000);
    expect(receiver.received[0]!.headers["webhook-signature"]).to.equal(signedBy(shown, receiver.received[0]!));
    await row(/Event endpoint: test/)
      .getByText("Delivered")
      .waitFor();

    receiver.respond = (_, response) => fail(response, 500, "No room");
    await w.group("told");
    await row(/Group: create/)
      .getByText("1 attempt")
      .waitFor();
    await row(/Group: create/)
      .getByText("1 attempt")
      .click();
    await row(/Group: create/)
      .getByText("No room")
      .waitFor();
    receiver.respond = (_, response) => void response.writeHead(204).end();
    await button("Send again Group: create").click();
    await row(/Group: create/)
      .getByText("Delivered")
      .waitFor();
    const ids = receiver.received.filter(({ body }) => body.type === "group.create").map(({ id }) => id);
    expect(new Set(ids).size).to.equal(1);

    await button("Pause").click();
    await button("Resume").click();
    await button("Pause").waitFor();
    await fill("Add a secret", {}, "Add a secret");
    expect(await secret()).to.not.equal(shown);
    await button(`Delete …${shown.slice(-4)}`).waitFor();
  });
});
