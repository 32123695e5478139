// The first steps of a new deployment: each is done once the deployment has what it is about.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { code } from "./support/accounts.js";
import { invite } from "./support/invitations.js";
import { Mailbox } from "./support/mailbox.js";
import { newKey, serve } from "./support/provisioners.js";
import { makeTemplate } from "./support/templates.js";
import { startWorld, type World, world } from "./support/world.js";

const query = "{ firstSteps { isDismissed steps { name isDone } } }";

/** The names of the steps that are done. */
async function doneIn(w: World): Promise<string[]> {
  const { firstSteps } = await w.as(w.owner).graphql(query);
  return (firstSteps.steps as Array<{ name: string; isDone: boolean }>).flatMap(({ name, isDone }) =>
    isDone ? [name] : [],
  );
}

describe("the first steps", () => {
  const the = world({ STEWARD_BUILTIN_DAEMON: "true" });

  it("are done by what the deployment has, and are not done any more without it", async () => {
    const w = the();
    expect(await doneIn(w), "the built-in daemon does not count").to.deep.equal([]);
    const daemon = await serve(w.app, { key: await newKey(w) });
    expect(await doneIn(w)).to.deep.equal(["DAEMON"]);
    await daemon.leave();
    const { id } = await makeTemplate(w);
    expect(await doneIn(w)).to.include("TEMPLATE");
    await w.as(w.owner).graphql("mutation($id: UUID!) { deleteTemplate(input: { templateId: $id }) { __typename } }", {
      id,
    });
    expect(await doneIn(w)).to.not.include("TEMPLATE");
    await w
      .as(w.owner)
      .graphql(
        `mutation { createUser(input: { email: "bot@example.com", username: "bot", isServiceAccount: true }) { __typename } }`,
      );
    expect(await doneIn(w), "a service account is no person").to.not.include("INVITATION");
    await invite(w.as(w.owner));
    expect(await doneIn(w))
      .to.include("INVITATION")
      .and.not.include("SIGN_IN");
  });

  it("are dismissed by owners, once for all, and recorded", async () => {
    const w = the();
    const auditor = await w.user("auditor");
    await w.grant(auditor, "auditor");
    const dismiss = "mutation { dismissFirstSteps { firstSteps { isDismissed } } }";
    expect((await w.as(auditor).graphql(query)).firstSteps.isDismissed).to.equal(false);
    expect(await code(w.as(auditor), dismiss)).to.equal("FORBIDDEN");
    expect(await code(w.as(await w.user("plain")), query)).to.equal("FORBIDDEN");
    for (let turn = 0; turn < 2; turn++)
      expect(await w.as(w.owner).graphql(dismiss)).to.deep.equal({
        dismissFirstSteps: { firstSteps: { isDismissed: true } },
      });
    expect((await w.as(auditor).graphql(query)).firstSteps.isDismissed).to.equal(true);
    expect(await audited(w, { resourceId: "first_steps" })).to.have.length(1);
  });

  it("include a mail server, as one of the ways to let people in", async () => {
    const mailbox = await Mailbox.open();
    const w = await startWorld(mailbox.settings);
    try {
      expect(await doneIn(w)).to.deep.equal(["SIGN_IN"]);
    } finally {
      await w.close();
      await mailbox.close();
    }
  });
});
