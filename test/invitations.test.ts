// Reaches for tables: times pass that no test waits for, the secret of a link is looked for in all tables, and races need a lock.
import { expect } from "chai";
import { code, createUser, deleteUser, fields, goodPassword, setUserRoles, suspend } from "./support/accounts.js";
import { loggedFromInfo } from "./support/app.js";
import { runJob } from "./support/background.js";
import {
  accept,
  accepting,
  invitationOf,
  invite,
  inviteDocument,
  mutate,
  newEmail,
  resend,
  revoke,
  tokenIn,
} from "./support/invitations.js";
import { Mailbox } from "./support/mailbox.js";
import { repeats } from "./support/repeats.js";
import { letPass, lockRows, setColumns, storedSecrets, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { type Client, type Person, sharedWorld, startWorld, type World } from "./support/world.js";

const notUsable = /cannot be used/;

// Requests of a test wait for one row together, or until the test has done something else.
const shared = sharedWorld({ STEWARD_REQUEST_TIMEOUT: "3m" });

describe("invitations", () => {
  const the = shared();
  const owner = () => the().as(the().owner);

  const admin = async (): Promise<Person> => {
    const person = await the().user("admin");
    await the().grant(person, "user-admin");
    return person;
  };

  it("create an account with what they give, once, and sign the person in", async () => {
    const w = the();
    const { name: organization } = await w.organization();
    const team = await w.group();
    const email = newEmail();
    const { invitation, link } = await invite(owner(), {
      email,
      name: "Ada Byron",
      roles: ["AUDITOR"],
      organizations: [{ organization: "default", roles: ["ORGANIZATION_AUDITOR"] }, { organization }],
      groups: [team.id],
    });
    expect(invitation).to.deep.include({ email, status: "OPEN", isVoid: false, delivery: "LINK" });
    expect(link).to.match(/^http:\/\/localhost:\d+\/login\/invitation\?token=stwv_[0-9A-Za-z]{43}$/);
    const { sessionToken, user } = await accept(w.nobody, link, { username: "ada-byron" });
    expect(user).to.deep.include({ username: "ada-byron", email, name: "Ada Byron" });
    expect(user.roles).to.deep.equal([
      { name: "AUDITOR", organizationId: "" },
      { name: "ORGANIZATION_AUDITOR", organizationId: w.defaultOrganization },
    ]);
    expect(user.organizationIds).to.have.length(2);
    const { me } = await w.as({ token: sessionToken }).graphql("{ me { username groups { nodes { name } } } }");
    expect(me.groups.nodes.map(({ name }: { name: string }) => name)).to.include(team.name);
    expect(await w.login(email, goodPassword)).to.match(/^stw_se_/);

    const again = await w.nobody.failure(...accepting(link));
    expect([again.code, again.message]).to.satisfy(
      ([is, text]: string[]) => is === "NOT_FOUND" && notUsable.test(text!),
    );
    const accepted = await invitationOf(owner(), invitation.id);
    expect(accepted).to.deep.include({ status: "ACCEPTED", user: { username: "ada-byron" } });
  });

  it("join the default organization by default, and let the person choose the name", async () => {
    const w = the();
    const { link } = await invite(owner(), { name: "Wrong" });
    const { user } = await accept(w.nobody, link, { name: "Right" });
    expect(user).to.deep.include({ name: "Right", roles: [], organizationIds: [w.defaultOrganization] });
  });

  it("report all faults together, and what the inviter may not give", async () => {
    const w = the();
    const group = await w.group("elsewhere", { organization: (await w.organization()).id });
    const input = {
      email: "none",
      name: " x",
      delivery: "MAIL",
      loginType: "OIDC",
      roles: ["ORGANIZATION_ADMIN"],
      organizations: [
        { organization: "default", roles: ["OWNER"] },
        { organization: "missing" },
        { organization: "default" },
      ],
      groups: [group.id, "missing", w.defaultOrganization],
    };
    const failure = await owner().failure(inviteDocument, { input });
    expect(failure.code).to.equal("BAD_USER_INPUT");
    expect(fields(failure)).to.have.members(
      [
        "email",
        "name",
        "roles[0]",
        "organizations[0].roles[0]",
        "organizations[1].organization",
        "organizations[2].organization",
        "groups[0]",
        "groups[1]",
        "groups[2]",
        "loginType",
        "delivery",
      ].map((field) => `input.${field}`),
    );
    const userAdmin = w.as(await admin());
    for (const given of [
      { roles: ["OWNER"] },
      { organizations: [{ organization: "default", roles: ["ORGANIZATION_ADMIN"] }] },
    ])
      expect(await code(userAdmin, inviteDocument, { input: { email: newEmail(), ...given } })).to.equal("FORBIDDEN");
    await invite(userAdmin, { organizations: [{ organization: "default", roles: ["ORGANIZATION_USER_ADMIN"] }] });
  });

  it("are CONFLICT for an address that has an account or an open invitation, and say nothing to strangers", async () => {
    const w = the();
    const ada = await w.user("ada");
    const taken = await owner().failure(inviteDocument, { input: { email: ada.email.toUpperCase() } });
    expect([taken.code, fields(taken)]).to.deep.equal(["CONFLICT", ["input.email"]]);
    const email = newEmail();
    const { invitation, link } = await invite(owner(), { email });
    const twice = await owner().failure(inviteDocument, { input: { email: email.toUpperCase() } });
    expect([twice.code, fields(twice)]).to.deep.equal(["CONFLICT", ["input.email"]]);

    // The address gets an account in another way: the holder of the link learns no more than of any wrong link.
    const hasAccount = async () => (await invitationOf(owner(), invitation.id)).hasAccount;
    expect(await hasAccount()).to.equal(false);
    await owner().graphql(createUser, { input: { email, username: "quicker", password: goodPassword } });
    expect(await hasAccount()).to.equal(true);
    const late = await w.nobody.failure(...accepting(link));
    const wrong = await w.nobody.failure(...accepting(link!.replace(/.$/, (end) => (end === "x" ? "y" : "x"))));
    const plain = ({ errors }: typeof late) => {
      const { requestId: _, ...extensions } = errors[0]!.extensions;
      return { message: errors[0]!.message, extensions };
    };
    expect(plain(late)).to.deep.equal(plain(wrong));
    expect(late.code).to.equal("NOT_FOUND");
    // One that has ended says how it ended.
    await revoke(owner(), invitation.id);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "REVOKED", hasAccount: false });
  });

  it("take an address from a user whom an identity provider deleted", async () => {
    const w = the();
    const leaver = await w.user("leaver");
    await suspend(w, leaver);
    await setColumns(w, "users", { id: leaver.id }, { deprovisioned_at: new Date() });
    const { link } = await invite(owner(), { email: leaver.email });
    const { user } = await accept(w.nobody, link);
    expect(user.email).to.equal(leaver.email);
  });

  it("end after seven days, when they are revoked, and when they are sent again", async () => {
    const w = the();
    const { invitation, link } = await invite(owner());
    expect(await code(owner(), ...resending(invitation.id))).to.equal("RATE_LIMITED");
    await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
    const second = await resend(owner(), invitation.id);
    expect(second.link).to.not.equal(link);
    expect((await w.nobody.failure(...accepting(link))).message).to.match(notUsable);
    expect(await invitationOf(owner(), invitation.id)).to.include({ sendCount: 2, status: "OPEN" });

    await letPass(w, "invitations", { id: invitation.id }, "7 d", ["expires_at", "sent_at"]);
    expect((await w.nobody.failure(...accepting(second.link))).message).to.match(notUsable);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "EXPIRED" });
    const third = await resend(owner(), invitation.id);
    await revoke(owner(), invitation.id);
    await revoke(owner(), invitation.id);
    expect((await w.nobody.failure(...accepting(third.link))).message).to.match(notUsable);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "REVOKED" });
    await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
    expect(await code(owner(), ...resending(invitation.id))).to.equal("CONFLICT");
  });

  it("make room for another one to the same address once they have expired", async () => {
    const w = the();
    const email = newEmail();
    const { invitation } = await invite(owner(), { email });
    await letPass(w, "invitations", { id: invitation.id }, "8 d", ["expires_at", "sent_at"]);
    const { link } = await invite(owner(), { email });
    expect(await code(owner(), ...resending(invitation.id))).to.equal("CONFLICT");
    await accept(w.nobody, link);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "EXPIRED" });
  });

  it("are sent at most ten times", async () => {
    const w = the();
    const { invitation } = await invite(owner());
    await setColumns(w, "invitations", { id: invitation.id }, { send_count: 10 });
    await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
    expect(await code(owner(), ...resending(invitation.id))).to.equal("CONFLICT");
  });

  it("are bounded for each user", async () => {
    const w = the();
    const busy = await admin();
    const rows = (from: number, to: number) =>
      `email\n${Array.from({ length: to - from }, (_, n) => `busy-${from + n}@example.com`).join("\n")}`;
    for (const from of [0, 1000])
      await mutate(w.as(busy), "importInvitations", { csv: rows(from, from + 1000), delivery: "LINK" }, "invitedCount");
    expect(await code(w.as(busy), inviteDocument, { input: { email: newEmail() } })).to.equal("CONFLICT");
    await invite(owner());
  });

  it("are limited to sixty a minute for each user", async () => {
    const w = the();
    const hasty = w.as(await admin());
    const preview = { csv: "email\na@example.com", isPreview: true };
    for (let sent = 0; sent < 60; sent++) await mutate(hasty, "importInvitations", preview, "invitedCount");
    expect(await code(hasty, inviteDocument, { input: { email: newEmail() } })).to.equal("RATE_LIMITED");
    await invite(w.as(await admin()));
  });

  const resending = (id: string) =>
    [
      "mutation($input: ResendInvitationInput!) { resendInvitation(input: $input) { link } }",
      { input: { id, delivery: "LINK" } },
    ] as const;

  describe("end with the rights of their inviter", () => {
    const givingAll = { organizations: [{ organization: "default", roles: ["ORGANIZATION_USER_ADMIN"] }] };

    const voided: Record<string, (inviter: Person) => Promise<unknown>> = {
      "is suspended": (inviter) => suspend(the(), inviter),
      "was suspended, and is active again": async (inviter) => {
        await suspend(the(), inviter);
        await mutate(owner(), "activateUser", { user: inviter.id }, "user { id }");
      },
      "is deleted": (inviter) => owner().graphql(deleteUser, { input: { user: inviter.id } }),
      "may create no users any more": (inviter) =>
        owner().graphql(setUserRoles, { input: { user: inviter.id, roles: [] } }),
    };
    for (const [title, end] of Object.entries(voided))
      it(`which are void if the inviter ${title}`, async () => {
        const w = the();
        const inviter = await admin();
        const { invitation, link } = await invite(w.as(inviter), givingAll);
        await end(inviter);
        expect((await w.nobody.failure(...accepting(link))).message).to.match(notUsable);
        expect(await invitationOf(owner(), invitation.id)).to.include({ status: "OPEN", isVoid: true });
        // Another administrator sends it again, by rights of its own.
        await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
        const { link: another } = await resend(owner(), invitation.id);
        const { user } = await accept(w.nobody, another);
        expect(user.roles.map(({ name }) => name)).to.deep.equal(["ORGANIZATION_USER_ADMIN"]);
      });

    it("and give only what the inviter may still give", async () => {
      const w = the();
      const [inviter] = await w.users("inviter");
      await w.grant(inviter!, "owner");
      const team = await w.group();
      const { link } = await invite(w.as(inviter!), {
        roles: ["OWNER", "AUDITOR"],
        organizations: [{ organization: "default", roles: ["ORGANIZATION_ADMIN", "ORGANIZATION_USER_ADMIN"] }],
        groups: [team.id],
      });
      await w.grant(inviter!, "user-admin");
      const { user } = await accept(w.nobody, link);
      expect(user.roles.map(({ name }) => name)).to.deep.equal(["ORGANIZATION_USER_ADMIN"]);
      expect(user.organizationIds).to.deep.equal([w.defaultOrganization]);
      const { user: seen } = await owner().graphql(`{ user(user: "${user.id}") { groups { nodes { id } } } }`);
      expect(seen.groups.nodes.map(({ id }: { id: string }) => id)).to.include(team.id);
    });

    it("and leave out organizations and groups that are gone", async () => {
      const w = the();
      const gone = await w.organization();
      const team = await w.group();
      const { link } = await invite(owner(), {
        organizations: [{ organization: "default" }, { organization: gone.id }],
        groups: [team.id],
      });
      await mutate(owner(), "deleteOrganization", { organization: gone.id }, "organization { id }");
      expect(await owner().delete(`/api/v2/groups/${team.id}`)).to.include({ status: 200 });
      const { user } = await accept(w.nobody, link);
      expect(user.organizationIds).to.deep.equal([w.defaultOrganization]);
    });

    it("also of those who may not manage what they give", async () => {
      const w = the();
      const userAdmin = w.as(await admin());
      const { invitation } = await invite(owner(), { roles: ["OWNER"] });
      await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
      expect(await code(userAdmin, ...resending(invitation.id))).to.equal("FORBIDDEN");
      const revoking = "mutation($id: UUID!) { revokeInvitation(input: { id: $id }) { invitation { id } } }";
      expect(await code(userAdmin, revoking, { id: invitation.id })).to.equal("FORBIDDEN");
    });
  });

  describe("in races", () => {
    /** Whether each of several requests has succeeded. */
    const outcomes = (requests: Array<Promise<unknown>>) =>
      Promise.all(
        requests.map((request) =>
          request.then(
            () => true,
            () => false,
          ),
        ),
      );

    it("are accepted by one of many requests", async () => {
      const w = the();
      const inviter = w.as(await admin());
      for (let round = 0; round < repeats(3, 30); round++) {
        const email = newEmail();
        const { link } = await invite(inviter, { email });
        const done = await outcomes(Array.from({ length: 4 }, () => accept(w.nobody, link)));
        expect(done.filter(Boolean)).to.have.length(1);
        const { users } = await owner().graphql(
          "query($search: String!) { users(filter: { search: $search }) { totalCount } }",
          { search: email },
        );
        expect(users.totalCount).to.equal(1);
      }
    });

    it("are either accepted or revoked", async () => {
      const w = the();
      const inviter = w.as(await admin());
      for (let round = 0; round < repeats(4, 40); round++) {
        const { invitation, link } = await invite(inviter);
        const [isAccepted, isRevoked] = await outcomes([accept(w.nobody, link), revoke(inviter, invitation.id)]);
        expect([isAccepted, isRevoked].filter(Boolean)).to.have.length(1);
        const { status } = await invitationOf(owner(), invitation.id);
        expect(status).to.equal(isAccepted ? "ACCEPTED" : "REVOKED");
      }
    });

    it("wait for a suspension of their inviter that is not committed yet", async () => {
      const w = the();
      const inviter = await admin();
      const { link } = await invite(w.as(inviter));
      const accepted = await lockRows(w, "users", { id: inviter.id }, async ({ set, awaited, commit }) => {
        await set({ status: "suspended" });
        const request = w.nobody.failure(...accepting(link));
        await awaited();
        await commit();
        return request;
      });
      expect(accepted.message).to.match(notUsable);
    });

    it("let two administrators invite the same person once", async () => {
      const one = the().as(await admin());
      const other = owner();
      const email = newEmail();
      const done = await outcomes([invite(one, { email }), invite(other, { email })]);
      expect(done.filter(Boolean)).to.have.length(1);
    });
  });

  it("are recorded, with the person as the one who created the account", async () => {
    const w = the();
    const { invitation, link } = await invite(owner(), { roles: ["AUDITOR"] });
    const { user } = await accept(w.nobody, link);
    const { auditEvents } = await owner().graphql(
      "{ auditEvents(first: 20) { nodes { action resourceType resourceId actorId diff } } }",
    );
    const about = (type: string) =>
      auditEvents.nodes.filter(
        ({ resourceType, resourceId }) => resourceType === type && [invitation.id, user.id].includes(resourceId),
      );
    expect(about("invitation").map(({ action }: { action: string }) => action)).to.deep.equal(["AUTHORIZE", "CREATE"]);
    expect(about("user").map(({ action, actorId }) => [action, actorId])).to.deep.equal([
      ["LOGIN", user.id],
      ["CREATE", user.id],
    ]);
    expect(JSON.stringify(auditEvents)).to.not.contain(tokenIn(link));
  });

  it("tell administrators about the new account", async () => {
    const w = the();
    const { link } = await invite(owner(), { name: "Newly Invited" });
    await accept(w.nobody, link);
    const titles = async () => {
      await runJob(w.app, "noticeJob");
      const { body } = await owner().get("/api/v2/notifications/inbox");
      return body.notifications.map(({ title }: { title: string }) => title) as string[];
    };
    await eventually(async () => (await titles()).includes("Account Newly Invited was created"), "the notice arrives");
  });

  it("keep the secret of their links to themselves", async () => {
    const w = the();
    const { link } = await invite(owner());
    const token = tokenIn(link);
    await w.nobody.get(`/login/invitation?token=${token}`);
    await accept(w.nobody, link);
    const stored = await storedText(w, "invitations", "audit_log", "notification_messages", "rate_counters");
    expect(stored).to.not.contain(token.slice(5));
    expect(JSON.stringify(loggedFromInfo)).to.not.contain(token.slice(5));
  });

  it("are listed for those who manage users, by status and text, in both orders", async () => {
    const w = the();
    const listed = async (client: Client, filter: object) =>
      (
        await client.graphql(
          `query($filter: InvitationFilter, $orderBy: InvitationOrder) {
             invitations(filter: $filter, orderBy: $orderBy) { totalCount nodes { email } } }`,
          { filter, orderBy: { field: "CREATED_AT", direction: "DESC" } },
        )
      ).invitations;
    const { invitation } = await invite(owner(), { email: "listed-one@example.com" });
    await invite(owner(), { email: "listed-two@example.com", name: "Zoe" });
    await revoke(owner(), invitation.id);
    const search = "LISTED-";
    const emails = async (filter: object) =>
      (await listed(owner(), { search, ...filter })).nodes.map(({ email }: { email: string }) => email);
    expect(await emails({})).to.deep.equal(["listed-two@example.com", "listed-one@example.com"]);
    expect(await emails({ status: "REVOKED" })).to.deep.equal(["listed-one@example.com"]);
    expect((await listed(owner(), { search: "zoe" })).totalCount).to.equal(1);
    const plain = w.as(await w.user("plain"));
    expect(await code(plain, "{ invitations { totalCount } }")).to.equal("FORBIDDEN");
  });

  it("are deleted a month after their end", async () => {
    const w = the();
    const { invitation } = await invite(owner());
    await letPass(w, "invitations", { id: invitation.id }, "38 d", ["expires_at", "sent_at"]);
    await runJob(w.app, "invitationPurge");
    expect(await code(owner(), `{ invitation(id: "${invitation.id}") { id } }`)).to.equal("NOT_FOUND");
  });

  it("need the scopes of what they give", async () => {
    const w = the();
    const narrow = w.as(await w.scoped(w.owner, "user:create", "organization_member:create"));
    await invite(narrow);
    for (const [given, missing] of [
      [{ roles: ["AUDITOR"] }, ["user:*"]],
      [{ organizations: [{ organization: "default", roles: ["ORGANIZATION_AUDITOR"] }] }, ["organization_member:*"]],
      [{ groups: ["any"] }, ["group:update"]],
    ] as const) {
      const { errors } = await narrow.failure(inviteDocument, { input: { email: newEmail(), ...given } });
      expect(errors[0]!.extensions.requiredScopes).to.deep.equal(missing);
    }
  });

  it("are sent again, which returns a link, with the scopes of what they may give", async () => {
    const w = the();
    const { invitation } = await invite(owner(), { roles: ["OWNER"] });
    await letPass(w, "invitations", { id: invitation.id }, "61 s", ["sent_at"]);
    const scopes = ["user:create", "user:update", "organization_member:create", "group:update"] as const;
    const narrow = w.as(await w.scoped(w.owner, ...scopes));
    const document = "mutation($input: ResendInvitationInput!) { resendInvitation(input: $input) { link } }";
    const { errors } = await narrow.failure(document, { input: { id: invitation.id, delivery: "LINK" } });
    expect(errors[0]!.extensions.requiredScopes).to.deep.equal(["organization_member:*", "user:*"]);
  });
});

describe("the page of an invitation", () => {
  const the = shared();
  const owner = () => the().as(the().owner);
  const form = (given: Record<string, string>) => new URLSearchParams(given).toString();
  const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };
  const valueIn = (page: string, name: string) =>
    new RegExp(`name="${name}"[^>]*?value="([^"]*)"`, "s").exec(page)?.[1];
  const cookies = (headers: Headers) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(";")[0]!)
      .join("; ");

  it("changes nothing when a program opens it, and creates the account when its form is sent", async () => {
    const w = the();
    const email = newEmail();
    const { invitation, link } = await invite(owner(), { email, name: "<b>Ada</b>" });
    const path = link!.slice(new URL(link!).origin.length);
    for (const method of ["GET", "HEAD", "GET"]) expect((await w.nobody.request(method, path)).status).to.equal(200);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "OPEN" });

    const page = await w.nobody.get(path);
    expect(page.headers.get("referrer-policy")).to.equal("no-referrer");
    expect(page.headers.get("cache-control")).to.equal("no-store");
    expect(page.body).to.contain("&lt;b&gt;Ada&lt;/b&gt;").and.not.contain("<b>Ada");
    const sent = {
      csrf_token: valueIn(page.body, "csrf_token")!,
      token: tokenIn(link),
      username: valueIn(page.body, "username")!,
      name: "Ada",
    };
    expect(sent.username).to.equal(email.split("@")[0]);
    const submit = (given: Record<string, string>) =>
      w.nobody.post("/login/invitation", form({ ...sent, ...given }), { ...urlencoded, cookie: cookies(page.headers) });
    const twice = { password: goodPassword, repeated: goodPassword };
    expect((await submit({ ...twice, csrf_token: "wrong" })).status).to.equal(403);
    expect((await submit({ ...twice, repeated: "other" })).body).to.contain("Differs from the password.");
    const weak = await submit({ password: "weak", repeated: "weak" });
    expect([weak.status, valueIn(weak.body, "name")]).to.deep.equal([400, "Ada"]);
    const taken = await submit({ ...twice, username: w.owner.username });
    expect([taken.status, /This username is in use/.test(taken.body)]).to.deep.equal([409, true]);
    expect(await invitationOf(owner(), invitation.id)).to.include({ status: "OPEN" });

    const done = await submit(twice);
    expect([done.status, done.headers.get("location")]).to.deep.equal([303, "/"]);
    expect(cookies(done.headers)).to.contain("service_session_token=stw_se_");
    const used = await w.nobody.get(path);
    expect(used.status).to.equal(404);
    expect(used.body).to.match(notUsable);
  });

  it("suggests a username that is free", async () => {
    const w = the();
    const { username } = await w.user("zora");
    const { link } = await invite(owner(), { email: `${username}@elsewhere.example` });
    const { invitationOffer } = await w.nobody.graphql(
      "query($token: String!) { invitationOffer(token: $token) { username organizationNames inviterName takesPassword providers } }",
      { token: ` ${tokenIn(link)}\n` },
    );
    expect(invitationOffer).to.deep.include({ username: `${username}-2`, takesPassword: true, providers: [] });
    expect(invitationOffer.organizationNames).to.have.length(1);
  });
});

describe("mails of invitations", () => {
  let w: World;
  let mailbox: Mailbox;
  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld(mailbox.settings);
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });
  const owner = () => w.as(w.owner);
  const inviteByMail = (input: object) =>
    mutate(owner(), "inviteUser", { email: newEmail(), ...input }, "link invitation { id delivery isMailed }");

  it("carry a link that works, in plain text and HTML", async () => {
    const email = newEmail();
    const sent = await inviteByMail({ email, name: "Ada [x](javascript:1)" });
    expect(sent.link).to.equal(null);
    expect(sent.invitation).to.include({ delivery: "MAIL", isMailed: false });
    const letter = await mailbox.letter(email);
    expect(letter.to).to.deep.equal([email]);
    const text = letter.text.replace(/=\r?\n/g, "").replaceAll("=3D", "=");
    expect(text).to.match(/^Subject: .*invites you to Steward/m);
    expect(text).to.not.match(/href="javascript/);
    const links = [...text.matchAll(/http:\/\/localhost:\d+\/login\/invitation\?token=stwv_[0-9A-Za-z]{43}/g)];
    expect(new Set(links.map(([link]) => link)).size).to.equal(1);
    const mailed = async () => (await invitationOf(owner(), sent.invitation.id)).isMailed;
    await eventually(mailed, "the mail is known to be sent");
    const [stored] = await storedSecrets(w, "invitations", "token", { where: { id: sent.invitation.id } });
    expect(stored).to.include({ keyId: null, nonce: null, ciphertext: null });
    const { user } = await accept(w.nobody, links[0]![0]);
    expect(user.email).to.equal(email);
  });

  it("are not sent for an invitation that was revoked before", async () => {
    await owner().put("/api/v2/notifications/settings", { notifier_paused: true });
    const email = newEmail();
    const next = newEmail();
    const { invitation } = await inviteByMail({ email });
    await revoke(owner(), invitation.id);
    await owner().put("/api/v2/notifications/settings", { notifier_paused: false });
    await inviteByMail({ email: next });
    await mailbox.letter(next);
    expect(mailbox.to(email)).to.deep.equal([]);
  });

  it("say why they could not be delivered, and can be replaced by a link", async () => {
    mailbox.refusal = { responseCode: 550, message: "No such mailbox" };
    const { invitation } = await inviteByMail({});
    const faultOf = async () => (await invitationOf(owner(), invitation.id)).mailFault as string | null;
    await eventually(async () => (await faultOf()) !== null, "the mail has failed");
    expect(await faultOf()).to.contain("No such mailbox");
    mailbox.refusal = undefined;
    await letPass(w, "invitations", { id: invitation.id }, "2 m", ["sent_at"]);
    const { link } = await resend(owner(), invitation.id);
    await accept(w.nobody, link);
  });
});
