// People who accept an invitation by a sign-in at an identity provider.
import { expect } from "chai";
import { accept, accepting, invitationOf, invite, newEmail } from "../support/invitations.js";
import { Visitor } from "../support/provider-visits.js";
import { OidcProvider } from "../support/providers.js";
import { startWorld, type World } from "../support/world.js";

describe("invitations through a provider", () => {
  let provider: OidcProvider;
  let w: World;
  before(async () => {
    provider = await OidcProvider.open(() => `${w.app.services.config.accessUrl}/login/oidc/callback`);
    w = await startWorld(provider.settings);
  });
  after(async () => {
    await w.close();
    await provider.close();
  });
  const owner = () => w.as(w.owner);

  /** A person at the provider, who signs in. */
  async function visit(email: string, more: object = {}) {
    const subject = email.replace("@", "-at-");
    provider.subjects.set(subject, { email, email_verified: true, name: "Ada Lovelace", ...more });
    const visitor = new Visitor(w.app.services.config.accessUrl);
    return { visitor, ...(await visitor.signIn(subject)) };
  }

  it("are accepted by a sign-in with the address, of any domain, and give what they offer", async () => {
    const team = await w.group();
    const email = newEmail();
    const { invitation } = await invite(owner(), {
      email: email.toUpperCase(),
      roles: ["AUDITOR"],
      organizations: [{ organization: "default", roles: ["ORGANIZATION_AUDITOR"] }],
      groups: [team.id],
    });
    const { status, visitor } = await visit(email);
    expect(status).to.equal(303);
    const { me } = await visitor.client.graphql(
      "{ me { username loginType roles { name } groups { nodes { name } } } }",
    );
    expect(me.loginType).to.equal("OIDC");
    expect(me.roles.map(({ name }: { name: string }) => name)).to.deep.equal(["AUDITOR", "ORGANIZATION_AUDITOR"]);
    expect(me.groups.nodes.map(({ name }: { name: string }) => name)).to.include(team.name);
    expect(await invitationOf(owner(), invitation.id)).to.deep.include({
      status: "ACCEPTED",
      user: { username: me.username },
    });
    expect((await visit(email)).status, "the next sign-in is by the link").to.equal(303);
  });

  it("are not accepted by another address, by one that is not verified, or once they are revoked", async () => {
    const email = newEmail();
    const other = newEmail();
    await invite(owner(), { email });
    expect((await visit(other)).text).to.contain("There is no account for you here.");
    expect((await visit(email, { email_verified: false })).text).to.contain("returned no verified email");
    const { invitation } = await invite(owner());
    await owner().graphql("mutation($id: UUID!) { revokeInvitation(input: { id: $id }) { __typename } }", {
      id: invitation.id,
    });
    expect((await visit(invitation.email)).text).to.contain("There is no account for you here.");
  });

  it("are accepted in the way that they name", async () => {
    const byPassword = await invite(owner(), { loginType: "PASSWORD" });
    expect((await visit(byPassword.invitation.email)).text).to.contain("There is no account for you here.");
    await accept(w.nobody, byPassword.link);
    const byProvider = await invite(owner(), { loginType: "OIDC" });
    const failure = await w.nobody.failure(...accepting(byProvider.link));
    expect([failure.code, failure.message]).to.deep.equal(["FORBIDDEN", "This invitation takes no password."]);
    const page = await w.nobody.get(byProvider.link!.slice(new URL(byProvider.link!).origin.length));
    expect(page.body).to.contain('href="/login/oidc"').and.not.contain('type="password"');
    expect((await visit(byProvider.invitation.email)).status).to.equal(303);
  });

  it("are accepted once, by a password or through the provider", async () => {
    for (let round = 0; round < 3; round++) {
      const { invitation, link } = await invite(owner());
      const [byPassword, byProvider] = await Promise.all([
        accept(w.nobody, link).then(
          () => true,
          () => false,
        ),
        visit(invitation.email).then(({ status }) => status === 303),
      ]);
      expect([byPassword, byProvider].filter(Boolean)).to.have.length(1);
    }
  });
});
