// People who leave, and others who get their names: whose account it is, and what is left of before.
// Reaches for tables: puts rows into the state from before an upgrade, and counts what is left of a person.
import { expect } from "chai";
import { fillIn } from "../support/backfills.js";
import { runJob } from "../support/background.js";
import { boxOf, doBuild, readBox, runningBox, stop, templateOf } from "../support/builds.js";
import { customTemplateId, deliver, messages } from "../support/inbox.js";
import { Mailbox } from "../support/mailbox.js";
import { isLong, repeats } from "../support/repeats.js";
import { GithubServer } from "../support/providers.js";
import { newScimUser, type ScimClient, scimClient } from "../support/scim.js";
import { countRows, deleteRows, setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, startWorld, userPassword, type World, world } from "../support/world.js";

const accountOf = async (w: World, id: string) =>
  (
    await w.as(w.owner).graphql(
      `query($id: String!) { user(user: $id) { email formerEmail username status roles { name } organizationIds
          scim { source externalId suspendedAt deprovisionedAt } } }`,
      { id },
    )
  ).user;

/** Requests for the same person wait for each other, on a slow machine for longer than a request usually may. */
const patient = { STEWARD_REQUEST_TIMEOUT: "5m" };

/** A user as one that provider makes: with its own ID, or known by the email alone. */
const unidentified = (more: Record<string, unknown> = {}) => {
  const { externalId: _, ...user } = newScimUser(more);
  return user;
};

for (const header of ["Authorization", "Authorizaiton"])
  describe(`people who leave, and SCIM in ${header}`, () => {
    const w = world(patient);
    let scim: ScimClient;
    /** 201, or 200 in the dialect of the contract. */
    const made = header === "Authorization" ? 201 : 200;
    before(async () => {
      scim = await scimClient(w(), { source: "hr" }, header);
    });
    const create = async (user: unknown): Promise<string> => {
      const { status, body } = await scim.post("/Users", user);
      expect(status, JSON.stringify(body)).to.equal(made);
      return body.id as string;
    };
    const leaver = async (user: unknown = newScimUser()) => {
      const id = await create(user);
      expect(await scim.delete(`/Users/${id}`)).to.include({ status: 204 });
      return id;
    };
    /** Tries what is the same in both dialects in one of them, or in both at full length. */
    const itAlike = (title: string, tried: () => Promise<void>) => {
      if (header === "Authorization" || isLong) it(title, tried);
    };
    const conflict = ({ status, body }: Answer) => expect(status, JSON.stringify(body)).to.equal(409);

    itAlike("gives a newcomer with the same userName, or the same email, an account of its own", async () => {
      const user = newScimUser();
      const id = await leaver(user);
      const named = { ...newScimUser(), userName: user.userName };
      const other = await create(named);
      expect(other).to.not.equal(id);
      expect(await accountOf(w(), id)).to.include({ email: user.emails[0]!.value, formerEmail: null });

      const reached = { ...newScimUser(), emails: [{ value: user.emails[0]!.value.toUpperCase(), primary: true }] };
      const third = await create(reached);
      expect([id, other]).to.not.include(third);
      expect(await accountOf(w(), id)).to.include({
        status: "SUSPENDED",
        email: `${id}@former.invalid`,
        formerEmail: user.emails[0]!.value,
      });
      expect(await accountOf(w(), third)).to.include({ email: reached.emails[0]!.value, formerEmail: null });
      // The leaver comes back with an address of its own, and not with one that is in use.
      conflict(await scim.post("/Users", user));
      const { userName, emails } = newScimUser();
      expect(await create({ ...user, userName, emails })).to.equal(id);
      expect(await accountOf(w(), id)).to.include({ status: "ACTIVE", email: userName, formerEmail: null });
    });

    itAlike("means another person if one side alone has an externalId", async () => {
      const one = newScimUser();
      const two = unidentified();
      const { externalId: _, ...withoutId } = one;
      const first = await leaver(one);
      const second = await leaver(two);
      expect(await create(withoutId)).to.not.equal(first);
      expect(await create({ ...two, externalId: `late-${second}` })).to.not.equal(second);
      const again = unidentified();
      const elsewhere = await scimClient(w(), { source: "other" });
      const third = await create(again);
      await elsewhere.change(`/Users/${third}`, { op: "add", value: { externalId: third } });
      await scim.delete(`/Users/${third}`);
      await elsewhere.delete(`/Users/${third}`);
      expect(await create(again), "known to another source").to.not.equal(third);
    });

    it("never returns an active person for a name, and one for an email only if it can be the same", async () => {
      const user = newScimUser();
      const id = await create(user);
      conflict(await scim.post("/Users", { ...newScimUser(), userName: user.userName }));
      conflict(await scim.post("/Users", { ...newScimUser(), emails: user.emails }));
      const { externalId: _, ...withoutId } = user;
      const same = await scim.post("/Users", withoutId);
      if (header === "Authorization") {
        conflict(same);
        return;
      }
      expect(same.body).to.include({ id });
      expect((await accountOf(w(), id)).scim[0]).to.include({ externalId: user.externalId });
    });

    it("revives the person with the externalId as a plain member", async () => {
      const user = newScimUser();
      const id = await create(user);
      const organization = w().defaultOrganization;
      const owner = w().as(w().owner);
      const run = (text: string) => owner.graphql(`mutation { ${text} { __typename } }`);
      await run(`setUserRoles(input: { user: "${id}", roles: [AUDITOR] })`);
      await run(
        `setOrganizationMemberRoles(input: { organization: "${organization}", user: "${id}", roles: [ORGANIZATION_ADMIN] })`,
      );
      const template = await templateOf(w(), boxOf(), { isClosed: true });
      await owner.patch(`/api/v2/templates/${template.id}/acl`, { user_perms: { [id]: "admin" } });
      expect(await countRows(w(), "template_acl_entries", { user_id: id })).to.equal(1);
      await scim.delete(`/Users/${id}`);
      expect((await accountOf(w(), id)).roles, "for administrators").to.have.length(2);
      // A role in the deployment protects the name and the email.
      expect(await scim.post("/Users", { ...user, displayName: "Evil", name: undefined })).to.include({ status: 403 });
      expect(await create(user)).to.equal(id);
      expect(await accountOf(w(), id)).to.deep.include({
        status: "ACTIVE",
        roles: [],
        organizationIds: [organization],
      });
      expect(await countRows(w(), "template_acl_entries", { user_id: id })).to.equal(0);
    });

    itAlike("keeps nothing personal for whom the email alone identifies, and stops workspaces of before", async () => {
      const user = unidentified();
      const id = await create(user);
      const owner = w().as(w().owner);
      await setColumns(w(), "users", { id }, { login_type: "password" });
      await owner.graphql(
        `mutation { resetUserPassword(input: { user: "${id}", password: "${userPassword}" }) { __typename } }`,
      );
      const token = await w().login(user.userName, userPassword);
      await w()
        .as({ token })
        .graphql(`mutation { createUserSecret(input: { name: "a", value: "v", envName: "A" }) { __typename } }`);
      const template = await templateOf(w(), boxOf());
      const box = await runningBox(w(), { token }, template.id);
      const friend = await w().user("friend");
      const entry = `{ id: "${friend.id}", role: "use" }`;
      await w()
        .as({ token })
        .graphql(
          `mutation { updateWorkspaceAcl(input: { workspace: "${box.workspace.id}", userPerms: [${entry}] }) { __typename } }`,
        );
      await scim.delete(`/Users/${id}`);
      expect(await countRows(w(), "user_secrets", { user_id: id })).to.equal(1);
      expect(await create(user)).to.equal(id);
      for (const table of ["user_secrets", "api_keys", "user_links", "inbox"])
        expect(await countRows(w(), table, { user_id: id }), table).to.equal(table === "inbox" ? 1 : 0);
      expect(await w().nobody.post("/api/v2/users/login", { email: user.userName, password: userPassword })).to.include(
        {
          status: 401,
        },
      );
      const { latestBuild } = await readBox(w(), w().owner, box.workspace.id);
      expect(latestBuild).to.include({ transition: "STOP", reason: "OWNER_SUSPENDED" });
      expect(await countRows(w(), "workspace_acl_entries", { workspace_id: box.workspace.id })).to.equal(0);
      expect(await countRows(w(), "workspaces", { owner_id: id, inject_user_secrets: true })).to.equal(0);
      await doBuild(w(), latestBuild.id);
      await runJob(w().app, "noticeJob");
      const { inboxNotifications } = await owner.graphql("{ inboxNotifications { nodes { title content } } }");
      const told = inboxNotifications.nodes.find(({ title }: { title: string }) =>
        title.includes("another person now"),
      );
      expect(told!.content).to.include(`These workspaces of before are stopped: ${box.workspace.name}.`);
    });

    itAlike(
      "empties an account for whom the email alone identifies, if an administrator activated it meanwhile",
      async () => {
        const user = unidentified();
        const id = await leaver(user);
        const owner = w().as(w().owner);
        await setColumns(w(), "users", { id }, { login_type: "password" });
        for (const change of [
          `activateUser(input: { user: "${id}" })`,
          `resetUserPassword(input: { user: "${id}", password: "${userPassword}" })`,
          `setOrganizationMemberRoles(
          input: { organization: "${w().defaultOrganization}", user: "${id}", roles: [ORGANIZATION_ADMIN] })`,
        ])
          await owner.graphql(`mutation { ${change} { __typename } }`);
        const token = await w().login(user.userName, userPassword);
        expect((await accountOf(w(), id)).roles).to.have.length(1);
        expect(await create(user)).to.equal(id);
        expect((await new Client(w().app.url, token).failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
        expect(await accountOf(w(), id)).to.deep.include({ status: "ACTIVE", roles: [] });
        expect(await countRows(w(), "api_keys", { user_id: id })).to.equal(0);
      },
    );

    itAlike("brings back whom the source suspended, and no user whom an administrator did", async () => {
      const user = newScimUser();
      const id = await create(user);
      const path = `/Users/${id}`;
      const activate = (active: boolean) => scim.change(path, { op: "replace", value: { active } });
      await activate(false);
      expect((await accountOf(w(), id)).scim[0]!.suspendedAt).to.be.a("string");
      const results = await Promise.all(Array.from({ length: 5 }, () => scim.post("/Users", user)));
      const wanted = header === "Authorization" ? [201, 409, 409, 409, 409] : Array<number>(5).fill(200);
      expect(results.map(({ status }) => status)).to.have.members(wanted);
      const account = await accountOf(w(), id);
      expect([account.status, account.scim[0]!.suspendedAt]).to.deep.equal(["ACTIVE", null]);

      await w().as(w().owner).graphql(`mutation { suspendUser(input: { user: "${id}" }) { __typename } }`);
      // The dialect of the contract updates whom it knows, whatever the status.
      if (header !== "Authorization") return;
      conflict(await scim.post("/Users", user));
      await activate(false);
      expect((await accountOf(w(), id)).scim[0]!.suspendedAt).to.equal(null);
    });

    for (const [known, person] of Object.entries({
      "the externalId": newScimUser,
      "the email alone": unidentified,
    }))
      itAlike(`brings back no user whom an administrator suspended before the deletion, by ${known}`, async () => {
        const user = person();
        const id = await create(user);
        const set = (verb: string) =>
          w().as(w().owner).graphql(`mutation { ${verb}(input: { user: "${id}" }) { __typename } }`);
        await set("suspendUser");
        await scim.delete(`/Users/${id}`);
        const rejected = await scim.post("/Users", user);
        conflict(rejected);
        expect(JSON.stringify(rejected.body)).to.include("suspended by an administrator");
        conflict(await scim.post("/Users", { ...user, active: true }));
        expect(await accountOf(w(), id)).to.include({ status: "SUSPENDED" });
        // Nor one whom an administrator suspended again after the deletion.
        await set("activateUser");
        await set("suspendUser");
        conflict(await scim.post("/Users", user));
        await set("activateUser");
        expect(await create(user)).to.equal(id);
        await scim.delete(`/Users/${id}`);
        expect(await create(user), "deleted by the source alone").to.equal(id);
        expect(await accountOf(w(), id)).to.include({ status: "ACTIVE" });
      });

    itAlike("gives one of ten newcomers the email of a leaver", async () => {
      const user = newScimUser();
      const id = await leaver(user);
      const results = await Promise.all(
        Array.from({ length: 10 }, () => scim.post("/Users", { ...newScimUser(), emails: user.emails })),
      );
      expect(results.map(({ status }) => status)).to.have.members([made, ...Array<number>(9).fill(409)]);
      expect(await accountOf(w(), id)).to.include({ formerEmail: user.userName });
      const again = newScimUser();
      const gone = await leaver(again);
      const back = await Promise.all(Array.from({ length: 10 }, () => scim.post("/Users", again)));
      expect(new Set(back.filter(({ status }) => status === made).map(({ body }) => body.id as string))).to.deep.equal(
        new Set([gone]),
      );
    });

    itAlike("renames to a userName that a leaver had", async () => {
      const user = newScimUser({ userName: `plain-${header}` });
      const other = newScimUser();
      await leaver(user);
      const id = await create(other);
      const renamed = await scim.change(`/Users/${id}`, { op: "replace", path: "userName", value: user.userName });
      expect(renamed.status, JSON.stringify(renamed.body)).to.equal(200);
      const email = { op: "replace", path: "emails", value: user.emails };
      expect(await scim.change(`/Users/${id}`, email)).to.include({ status: 200 });
      expect(await accountOf(w(), id)).to.include({ email: user.emails[0]!.value });
    });

    itAlike("gives a leaver who returns the email that another user had meanwhile", async () => {
      const user = newScimUser();
      const other = newScimUser();
      const id = await leaver(user);
      const otherId = await create(other);
      for (const value of [user.emails, other.emails])
        expect(await scim.change(`/Users/${otherId}`, { op: "replace", path: "emails", value })).to.include({
          status: 200,
        });
      expect(await accountOf(w(), id)).to.include({ formerEmail: user.emails[0]!.value });
      expect(await create(user)).to.equal(id);
      expect(await accountOf(w(), id)).to.include({ email: user.emails[0]!.value, formerEmail: null });
    });
  });

describe("the address of a person who left", () => {
  let github: GithubServer;
  let started: World;
  let scim: ScimClient;
  before(async () => {
    github = await GithubServer.open();
    started = await startWorld({ ...github.settings, ...patient, STEWARD_OIDC_EMAIL_DOMAINS: "corp.example" });
    scim = await scimClient(started, { source: "hr" });
  });
  after(async () => {
    await started.close();
    await github.close();
  });
  const w = () => started;
  const leaver = async () => {
    const user = newScimUser();
    const { body } = await scim.post("/Users", user);
    await scim.delete(`/Users/${body.id}`);
    return { id: body.id as string, email: user.userName };
  };
  const expectFormer = async ({ id, email }: { id: string; email: string }) =>
    expect(await accountOf(w(), id)).to.include({ email: `${id}@former.invalid`, formerEmail: email });

  it("is free for administrators, who create and change users, and stays reserved as a former one", async () => {
    const owner = w().as(w().owner);
    const one = await leaver();
    const two = await leaver();
    const input = { email: one.email.toUpperCase(), username: "newcomer", password: userPassword };
    const { createUser } = await owner.graphql(
      "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id email } } }",
      { input },
    );
    await expectFormer(one);
    const update = (user: string, email: string) =>
      owner.post("/graphql", {
        query:
          "mutation($user: String!, $email: EmailAddress!) { updateUser(input: { user: $user, email: $email }) { user { email formerEmail } } }",
        variables: { user, email },
      });
    expect((await update(createUser.user.id, two.email)).body.errors).to.equal(undefined);
    await expectFormer(two);
    const reserved = await update(createUser.user.id, `x@former.invalid`);
    expect(reserved.body.errors[0].extensions.code).to.equal("BAD_USER_INPUT");
    // Activated, the leaver gets another one.
    await owner.graphql(`mutation { activateUser(input: { user: "${two.id}" }) { __typename } }`);
    expect((await update(two.id, "back@corp.example")).body.data.updateUser.user).to.deep.equal({
      email: "back@corp.example",
      formerEmail: null,
    });
    // Whom an administrator activated again keeps the address.
    const three = await leaver();
    await owner.graphql(`mutation { activateUser(input: { user: "${three.id}" }) { __typename } }`);
    expect((await update(createUser.user.id, three.email)).body.errors[0].extensions.code).to.equal("CONFLICT");
  });

  it("is free for who signs in with it", async () => {
    const gone = await leaver();
    github.emails = [{ email: gone.email, primary: true, verified: true }];
    const visitor = new Client(w().app.url);
    const begun = await visitor.get("/login/github");
    const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
    const back = await fetch(begun.headers.get("location")!, { redirect: "manual" });
    const { pathname, search } = new URL(back.headers.get("location")!);
    expect(await visitor.get(pathname + search, { cookie })).to.include({ status: 303 });
    await expectFormer(gone);
    const { users } = await w()
      .as(w().owner)
      .graphql(`{ users(filter: { search: "${gone.email}" }) { nodes { id email } } }`);
    expect(users.nodes.map(({ email }: { email: string }) => email)).to.deep.equal([gone.email]);
    expect(users.nodes[0]!.id).to.not.equal(gone.id);
  });

  it("comes with a username of its own, by which identity providers know no other user", async () => {
    const user = newScimUser({ userName: "tessa" });
    const { body } = await scim.post("/Users", user);
    await w()
      .as(w().owner)
      .graphql(`mutation { updateUser(input: { user: "${body.id}", username: "renamed" }) { __typename } }`);
    github.user = { id: 77, login: "tessa", name: "Tessa" };
    github.emails = [{ email: "tessa.other@corp.example", primary: true, verified: true }];
    const visitor = new Client(w().app.url);
    const begun = await visitor.get("/login/github");
    const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
    const back = await fetch(begun.headers.get("location")!, { redirect: "manual" });
    const { pathname, search } = new URL(back.headers.get("location")!);
    expect(await visitor.get(pathname + search, { cookie })).to.include({ status: 303 });
    const found = await scim.get(`/Users?filter=${encodeURIComponent('userName eq "tessa"')}`);
    expect(found.body.Resources.map(({ id }: { id: string }) => id)).to.deep.equal([body.id]);
  });

  it("goes to one of those who take it at the same moment, by sign-ins, administrators, and providers", async () => {
    const owner = w().as(w().owner);
    const begin = async () => {
      const visitor = new Client(w().app.url);
      const begun = await visitor.get("/login/github");
      const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
      const back = await fetch(begun.headers.get("location")!, { redirect: "manual" });
      const { pathname, search } = new URL(back.headers.get("location")!);
      return () => visitor.get(pathname + search, { cookie });
    };
    const change = (query: string, variables: object) => owner.post("/graphql", { query, variables });
    for (let round = 0; round < repeats(4, 8); round++) {
      const gone = await leaver();
      github.user = { id: 9000 + round, login: `racer-${round}`, name: "" };
      github.emails = [{ email: gone.email, primary: true, verified: true }];
      const one = await begin();
      const two = await begin();
      const input = { email: gone.email.toUpperCase(), username: `racer-admin-${round}`, password: userPassword };
      const taking: Array<() => Promise<Answer>> = [
        one,
        two,
        () => change("mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }", { input }),
        () => scim.post("/Users", { ...newScimUser(), emails: [{ value: gone.email }] }),
      ];
      // The leaver comes back.
      const back = () => change(`mutation { activateUser(input: { user: "${gone.id}" }) { user { id } } }`, {});
      if (round % 2 === 0) taking.push(back);
      // Each of them is the first once.
      const first = round % taking.length;
      const order = [...taking.slice(first), ...taking.slice(0, first)];
      const answers = await Promise.all(order.map((take) => take()));
      for (const { status, body } of answers) {
        expect(status, JSON.stringify(body)).to.be.below(500);
        for (const { extensions } of body?.errors ?? []) expect(extensions.code).to.equal("CONFLICT");
      }
      const { users } = await owner.graphql(`{ users(filter: { search: "${gone.email}" }) { nodes { id email } } }`);
      const bearers = users.nodes.filter(
        ({ email }: { email: string }) => email.toLowerCase() === gone.email.toLowerCase(),
      );
      expect(bearers, JSON.stringify(answers.map(({ status, body }) => [status, body]))).to.have.length(1);
      const isBack = bearers[0]!.id === gone.id;
      if (round % 2 === 1) expect(isBack).to.equal(false);
      const leaverNow = await accountOf(w(), gone.id);
      if (!isBack) expect(leaverNow).to.include({ email: `${gone.id}@former.invalid`, formerEmail: gone.email });
    }
  });

  it("is seen by no identity provider, whose lookups by a name find the newcomer only", async () => {
    const gone = await leaver();
    const other = await scimClient(w(), { source: "elsewhere" });
    expect(await other.get(`/Users/${gone.id}`)).to.include({ status: 404 });
    const { body } = await other.find("/Users", `userName eq "${gone.email}"`);
    expect(body).to.include({ totalResults: 0 });
  });

  it("is told by an upgrade, which also knows from the audit log whom a source had suspended", async () => {
    const gone = await leaver();
    const user = newScimUser();
    const { body } = await scim.post("/Users", user);
    const member = await w().user("elsewhere", [w().defaultOrganization, (await w().organization()).id]);
    await scim.delete(`/Users/${member.id}`);
    await w().as(w().owner).graphql(`mutation { suspendUser(input: { user: "${member.id}" }) { __typename } }`);
    await scim.change(`/Users/${body.id}`, { op: "replace", value: { active: false } });
    await setColumns(w(), "users", { id: gone.id }, { deprovisioned_at: null });
    await setColumns(w(), "scim_user_links", { user_id: body.id }, { suspended_at: null });
    const changed = await fillIn(w(), "0070-leavers");
    expect(changed.every((count) => count !== null && count > 0)).to.equal(true);
    expect(await fillIn(w(), "0070-leavers")).to.deep.equal([0, 0]);
    const newcomer = { ...newScimUser(), emails: [{ value: gone.email }] };
    expect(await scim.post("/Users", newcomer)).to.include({ status: 201 });
    await expectFormer(gone);
    expect((await scim.post("/Users", user)).body).to.include({ id: body.id, active: true });
    const taken = { ...newScimUser(), emails: [{ value: member.email }] };
    expect(await scim.post("/Users", taken), "who is a member elsewhere").to.include({ status: 409 });
  });
});

describe("people whom their provider deleted before an upgrade", () => {
  const w = world();

  it("return, but for those whom an administrator suspended, as far as the audit log goes back", async () => {
    const scim = await scimClient(w(), { source: "hr" });
    const gone = async (before?: string) => {
      const user = newScimUser();
      const { id } = (await scim.post("/Users", user)).body;
      if (before) await w().as(w().owner).graphql(`mutation { ${before}(input: { user: "${id}" }) { __typename } }`);
      // Otherwise, both events could be of one deletion.
      const earlier = new Date(Date.now() - 10_000);
      if (before) await setColumns(w(), "audit_log", { resource_id: id }, { time: earlier });
      await scim.delete(`/Users/${id}`);
      await setColumns(w(), "scim_user_links", { user_id: id }, { suspended_at: null });
      await setColumns(w(), "users", { id }, { suspended_at: "2026-01-01T00:00:00Z" });
      return { id, user };
    };
    const deleted = await gone();
    const suspended = await gone("suspendUser");
    const forgotten = await gone("suspendUser");
    await deleteRows(w(), "audit_log", { resource_id: forgotten.id });
    expect(await fillIn(w(), "0090-deleting-sources")).to.deep.equal([2]);
    expect(await fillIn(w(), "0090-deleting-sources")).to.deep.equal([0]);
    const again = await Promise.all([deleted, suspended, forgotten].map(({ user }) => scim.post("/Users", user)));
    expect(again.map(({ status }) => status)).to.deep.equal([201, 409, 201]);
  });
});

describe("what waits for a person who left", () => {
  let mailbox: Mailbox;
  let w: World;
  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld({
      ...mailbox.settings,
      STEWARD_NOTIFICATIONS_RETRY_BASE: "200ms",
      STEWARD_NOTIFICATIONS_RETRY_MAX: "400ms",
      // Mails that can be sent later are not given up before the test has seen that they wait.
      STEWARD_NOTIFICATIONS_MAX_ATTEMPTS: "100",
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
    });
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });

  it("does not reach the next one by the email: mails, also those that administrators send again, and offers", async () => {
    const owner = w.as(w.owner);
    const scim = await scimClient(w, { source: "hr" });
    const user = unidentified();
    const { body } = await scim.post("/Users", user);
    const id = body.id as string;
    const template = await templateOf(w, boxOf());
    const { workspace } = await runningBox(w, w.owner, template.id);
    const { stopWorkspace } = await owner.graphql(stop, { workspace: workspace.id });
    await doBuild(w, stopWorkspace.workspaceBuild.id);
    await owner.graphql(
      `mutation($workspace: String!, $receiver: String!) {
         transferWorkspaces(input: { workspaces: [$workspace], receiver: $receiver }) { isOffered } }`,
      { workspace: workspace.id, receiver: id },
    );
    expect(await countRows(w, "workspace_transfers", { receiver_id: id })).to.equal(1);
    await eventually(() => mailbox.to(user.userName).length > 0, "the mail about the offer");
    mailbox.letters.splice(0);

    const send = (...titles: string[]) => deliver(w.app, id, titles, { templateId: customTemplateId });
    const states = async () => (await messages(w, { user: id, method: "SMTP" })).map(({ state }) => state);
    mailbox.refusal = { responseCode: 550, message: "No such mailbox" };
    await send("Rejected for good");
    await eventually(async () => (await states()).includes("PERMANENT_FAILURE"), "a mail is rejected");
    mailbox.refusal = { responseCode: 451, message: "Try again later" };
    await send("Severance", "Appraisal");
    await eventually(
      async () => (await states()).filter((state) => state === "TEMPORARY_FAILURE").length === 2,
      "two mails wait",
    );

    // The address is another person's before the mail server is well again.
    await owner.put("/api/v2/notifications/settings", { notifier_paused: true });
    await scim.delete(`/Users/${id}`);
    expect((await scim.post("/Users", user)).body.id).to.equal(id);
    mailbox.refusal = undefined;
    await owner.put("/api/v2/notifications/settings", { notifier_paused: false });
    await owner.graphql(
      `mutation($user: String!) { retryNotificationMessages(input: { filter: { user: $user } }) { retried } }`,
      { user: id },
    );
    await send("Welcome");
    await eventually(() => mailbox.to(user.userName).some(({ text }) => text.includes("Welcome")), "a mail of today");
    for (const { text } of mailbox.to(user.userName)) expect(text).to.not.match(/Rejected|Severance|Appraisal/);
    const all = await messages(w, { user: id, method: "SMTP" });
    const discarded = all.filter(({ state }) => state === "DISCARDED");
    // The three, and the mail about the suspension.
    expect(discarded).to.have.length.within(3, 4);
    for (const { reason } of discarded) expect(reason).to.equal("The account went to another person.");
    expect(await countRows(w, "workspace_transfers", { receiver_id: id })).to.equal(0);
    for (const table of ["login_addresses", "notification_preferences"])
      expect(await countRows(w, table, { user_id: id }), table).to.equal(0);
  });
});
