// Links in mails that turn the mails of a template off, without a session. How the page looks is in the tests of mails.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { codeIn, Mailbox, unsubscribePath } from "./support/mailbox.js";
import { eventually } from "./support/watchers.js";
import { type Person, startWorld, type World } from "./support/world.js";

describe("links that unsubscribe from mails", () => {
  let mailbox: Mailbox;
  let w: World;
  let ada: Person;

  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld(mailbox.settings);
    ada = await w.user("ada");
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });

  const page = (path: string) => fetch(w.url + path, { redirect: "manual" });
  const oneClick = (path: string) => {
    const body = new FormData();
    body.set("List-Unsubscribe", "One-Click");
    return fetch(w.url + path, { method: "POST", body });
  };

  it("work by one click of a mail program, any number of times, and are audited once", async () => {
    const [bob] = await w.users("bob");
    await w.as(bob!).post("/api/v2/notifications/custom", { content: { title: "x" } });
    const path = unsubscribePath(w, await mailbox.letter(bob!.email));
    for (let nr = 0; nr < 3; nr++) expect((await oneClick(path)).status).to.equal(200);
    const events = await audited(w, { resourceType: "notification_preference", resourceId: bob!.id });
    expect(events.map(({ actorId }) => actorId)).to.deep.equal([bob!.id]);
  });

  it("fail once the address that they were mailed to is no longer that of the user", async () => {
    const [bob] = await w.users("bob");
    const toBob = (title: string) => w.as(bob!).post("/api/v2/notifications/custom", { content: { title } });
    const move = (email: string) =>
      w
        .as(w.owner)
        .graphql(`mutation { updateUser(input: { user: "${bob!.id}", email: "${email}" }) { user { id } } }`);
    await toBob("before");
    const path = unsubscribePath(w, await mailbox.letter(bob!.email));
    await move("bob@new.example.com");
    expect([(await page(path)).status, (await oneClick(path)).status]).to.deep.equal([404, 404]);
    await toBob("after");
    const next = unsubscribePath(w, await mailbox.letter("bob@new.example.com"));
    await move("Bob@new.example.com");
    expect((await page(next)).status, "another spelling of the same address").to.equal(200);
    expect((await oneClick(next)).status).to.equal(200);
  });

  it("fail if they were changed, have expired, or are for mails that cannot be turned off", async () => {
    const { seals } = w.app.services;
    const customId = "39b1e189-c857-4b0c-877a-511144c18516";
    const passcodeId = "62f86a30-2330-4b61-a26d-311ff3b608cf";
    const token = (...parts: unknown[]) => seals.seal("unsubscribe", parts.join("~"));
    const later = Date.now() + 60_000;
    const valid = await token(ada.id, customId, later);
    for (const bad of [
      "",
      "x",
      valid.replace(ada.id, w.owner.id),
      valid.slice(0, -1),
      await seals.seal("other", [ada.id, customId, later].join("~")),
      await token(ada.id, customId, Date.now() - 60_000),
      await token(ada.id, passcodeId, later),
      await token(ada.id, "x", later),
    ]) {
      const path = `/notifications/unsubscribe?token=${bad}`;
      expect([bad, (await page(path)).status, (await oneClick(path)).status]).to.deep.equal([bad, 404, 404]);
    }
    await w.nobody.post("/api/v2/users/otp/request", { email: ada.email });
    await eventually(
      () => mailbox.to(ada.email).some(({ text }) => /^Subject: .*passcode/m.test(text)),
      "the passcode arrives",
    );
    const letter = mailbox.to(ada.email).find(({ text }) => /^Subject: .*passcode/m.test(text))!;
    expect(codeIn(letter)).to.have.length(10);
    expect(letter.text).to.not.match(/unsubscribe/i);
  });
});
