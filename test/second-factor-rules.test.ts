// Rules about second factors: of owners for roles in the deployment, and of organizations for their members.
// Reaches for tables: no test waits for days.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { startServer } from "./support/app.js";
import { audited } from "./support/audit.js";
import { addAuthenticator, codeOf } from "./support/authenticators.js";
import { insertKey } from "./support/keys.js";
import { addPasskey } from "./support/passkeys.js";
import { letPass, setColumns } from "./support/tables.js";
import { Client, type Person, userPassword, world } from "./support/world.js";

const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };
const rules = `{ secondFactorRules { role level daysToEnrol since reach { peopleCount withoutFactorCount } } }`;
const set = `mutation($input: SetSecondFactorRuleInput!) { setSecondFactorRule(input: $input) { rule { role level daysToEnrol since } } }`;
const setThere = `mutation($input: SetOrganizationSecondFactorRuleInput!) {
  setOrganizationSecondFactorRule(input: $input) { rule { role level daysToEnrol } } }`;
const ruleThere = `query($organization: String!) { organizationSecondFactorRule(organization: $organization) {
  level reach { peopleCount withoutFactorCount } } }`;
const own = `{ secondFactors { level addBy } }`;
const createKey = `mutation { createApiKey(input: { name: "mine" }) { token } }`;
const day = 86_400_000;

describe("rules of second factors", () => {
  const the = world(noLimits);
  const owner = () => the().as(the().owner);
  const setRule = (role: string, level: string, daysToEnrol?: number) =>
    owner().graphql(set, { input: { role, level, daysToEnrol } });
  const setRuleOf = (organization: string, level: string, daysToEnrol?: number) =>
    owner().graphql(setThere, { input: { organization, level, daysToEnrol } });

  /** Lets the server see a change of rules, or of times, that it would see within a second. */
  const see = ({ id }: Pick<Person, "id">) => the().app.services.credentials.onChange(`u:${id}`);
  const standing = async (person: Person) => (await the().as(person).graphql(own)).secondFactors;
  const reasonFor = async (person: Pick<Person, "token"> & { id: string }, document = "{ me { id } }") => {
    see(person);
    const { body } = await the().as(person).post("/graphql", { query: document });
    return body.errors?.[0].extensions.reason ?? "done";
  };
  const signIn = ({ email }: Person, more: object = {}) =>
    the().nobody.post("/api/v2/users/login", { email, password: userPassword, ...more });

  /** Moves a rule back, as if days had passed since it was set. */
  const age = (site_role: string, days: number) =>
    letPass(the(), "second_factor_rules", { site_role }, `${days} days`, ["since"]);

  afterEach(async () => {
    for (const role of ["MEMBER", "AUDITOR", "TEMPLATE_ADMIN"]) await setRule(role, "OFF");
    await setRuleOf("default", "OFF");
  });

  it("are silent at first, and say whom they would concern", async () => {
    const w = the();
    const [ada, bob] = [await w.user("ada"), await w.user("bob")];
    await w.user("eve", undefined, "OIDC");
    await addAuthenticator(w.as(ada));
    const holder = w.as(await w.user("kim"));
    for (const password of [userPassword, null])
      await addPasskey(holder, w.app.services.config.accessUrl, { password });
    await w.grant(bob, "auditor");
    const { secondFactorRules } = await owner().graphql(rules);
    expect(secondFactorRules.map(({ role }: { role: string }) => role)).to.deep.equal([
      "MEMBER",
      "OWNER",
      "TEMPLATE_ADMIN",
      "USER_ADMIN",
      "AUDITOR",
    ]);
    const [all, , , , auditors] = secondFactorRules;
    expect(all).to.deep.include({ level: "OFF", daysToEnrol: 14, since: null });
    expect(all!.reach.peopleCount - all!.reach.withoutFactorCount).to.equal(2);
    expect(all!.reach.peopleCount).to.equal(4);
    expect(auditors!.reach).to.deep.equal({ peopleCount: 1, withoutFactorCount: 1 });
    const { organizationSecondFactorRule: there } = await owner().graphql(ruleThere, { organization: "default" });
    expect(there).to.deep.include({ level: "OFF", reach: { ...all!.reach } });
    expect(await standing(bob)).to.deep.equal({ level: "OPTIONAL", addBy: null });
  });

  it("leave a period in which all goes on, and after which nothing but adding does, over both interfaces", async () => {
    const w = the();
    const ada = await w.user("ada");
    await w.grant(ada, "auditor");
    await setRule("AUDITOR", "REQUIRED", 3);
    see(ada);
    const { level, addBy } = await standing(ada);
    expect(level).to.equal("REQUIRED");
    expect(Date.parse(addBy)).to.be.within(Date.now() + 3 * day - 60_000, Date.now() + 3 * day + 60_000);
    expect((await signIn(ada)).status).to.equal(201);
    expect(await reasonFor(ada)).to.equal("done");
    await setRule("AUDITOR", "REQUIRED", 0);
    expect(await reasonFor(ada), "other days count from the same time").to.equal("second_factor_required");
    const rejected = await signIn(ada);
    expect([rejected.status, rejected.body.message]).to.deep.equal([401, "A second factor is required."]);
    expect((await signIn({ ...ada, email: "no@example.com" })).body.message).to.equal("Incorrect email or password.");
    const begun = await signIn(ada, { adds_factor: true });
    const session = { ...ada, token: begun.body.session_token as string };
    expect(await reasonFor(session)).to.equal("second_factor_required");
    expect((await w.as(session).get("/api/v2/users/me/quiet-hours")).status).to.equal(403);
    const { secret } = await addAuthenticator(w.as(session));
    expect(await reasonFor(session)).to.equal("done");
    expect(await standing(session)).to.deep.equal({ level: "REQUIRED", addBy: null });
    const remove = `mutation { removeAuthenticator(input: { oneTimeCode: "${codeOf(secret, 1)}" }) { user { id } } }`;
    expect((await w.as(session).failure(remove)).code, "it is required").to.equal("CONFLICT");
  });

  it("begin for a person with the role, and another role prolongs nothing", async () => {
    const w = the();
    const [ada, bob] = [await w.user("ada"), await w.user("bob")];
    await w.grant(ada, "auditor");
    await setRule("AUDITOR", "REQUIRED", 3);
    await age("auditor", 10);
    await w.grant(bob, "auditor");
    expect(await reasonFor(bob), "the role is new").to.equal("done");
    const before = await standing(bob);
    await w.grant(bob, "auditor", "template-admin");
    expect(await standing(bob)).to.deep.equal(before);
    await w.grant(bob, "template-admin");
    expect((await standing(bob)).level).to.equal("OPTIONAL");
    // Roles that were held before their times were kept count from the rule.
    await setColumns(w, "users", { id: ada.id }, { site_role_times: "{}" });
    expect(await reasonFor(ada)).to.equal("second_factor_required");
    await w.grant(ada, "auditor", "template-admin");
    expect(await reasonFor(ada), "the other one prolongs nothing").to.equal("second_factor_required");
  });

  it("of several organizations and of the deployment: the strictest counts, and an organization weakens nothing", async () => {
    const w = the();
    const [lax, strict] = [await w.organization(), await w.organization()];
    const ada = await w.user("ada", [w.defaultOrganization, lax.id, strict.id]);
    const admin = await w.user("admin");
    await w.grant(admin, "organization-admin");
    const byAdmin = (organization: string, level: string, daysToEnrol = 14) =>
      w.as(admin).post("/graphql", { query: setThere, variables: { input: { organization, level, daysToEnrol } } });
    await setRuleOf(lax.id, "REQUIRED", 30);
    await setRuleOf(strict.id, "REQUIRED", 5);
    see(ada);
    const due = async () => Math.round((Date.parse((await standing(ada)).addBy) - Date.now()) / day);
    expect(await due()).to.equal(5);
    await setRule("MEMBER", "REQUIRED", 2);
    expect(await due()).to.equal(2);
    for (const level of ["OFF", "OPTIONAL", "REQUIRED"]) {
      const { body } = await byAdmin("default", level, 365);
      expect(body.data.setOrganizationSecondFactorRule.rule.level).to.equal(level);
      expect(await due(), level).to.equal(2);
    }
    await setRule("MEMBER", "OFF");
    expect((await byAdmin(strict.id, "OFF")).body.errors[0].extensions.code).to.equal("NOT_FOUND");
    const siteRule = { query: set, variables: { input: { role: "MEMBER", level: "OFF" } } };
    expect((await w.as(admin).post("/graphql", siteRule)).body.errors[0].extensions.code).to.equal("FORBIDDEN");
    await w
      .as(w.owner)
      .graphql(
        `mutation($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { __typename } }`,
        { input: { organization: strict.id, user: ada.id } },
      );
    expect(await due(), "the rule of the default organization allows a year").to.equal(30);
  });

  it("hold in sessions, streams, and batches that were open before, and API tokens go on", async () => {
    const w = the();
    const ada = await w.user("ada");
    await w.grant(ada, "auditor");
    const token = { ...ada, token: (await insertKey(w, ada, "token")).text };
    const socket = createClient({
      url: `${w.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
      retryAttempts: 0,
    });
    try {
      const stream = socket.iterate({ query: "subscription { inboxEvents { __typename } }" });
      const first = await stream.next();
      expect(JSON.stringify(first.value)).to.contain("inboxEvents");
      const ended = stream.next().catch((thrown: unknown) => ({ value: thrown }));
      for await (const { data } of socket.iterate({ query: "{ me { id } }" })) expect(data).to.have.property("me");
      await setRule("AUDITOR", "REQUIRED", 0);
      see(ada);
      w.app.services.events.publish({ topic: "auth", id: `u:${ada.id}` });
      const { value } = await ended;
      expect(JSON.stringify(value)).to.contain("second_factor_required");
      const later = socket.iterate({ query: "{ me { id } }" }).next();
      expect(JSON.stringify(await later.catch((thrown: unknown) => thrown))).to.contain("second_factor_required");
    } finally {
      await socket.dispose();
    }
    expect(await reasonFor(ada, "{ a: me { id } b: serverInfo { version } }")).to.equal("second_factor_required");
    expect(await reasonFor(ada, createKey), "it makes no tokens").to.equal("second_factor_required");
    expect(await reasonFor(token)).to.equal("done");
    const setByToken = { query: set, variables: { input: { role: "AUDITOR", level: "OFF" } } };
    await w.grant(ada, "owner", "auditor");
    expect((await w.as(token).post("/graphql", setByToken)).body.errors[0].extensions.code).to.equal("FORBIDDEN");
  });

  it("are not for people of providers and service accounts, and begin where the setting is off", async () => {
    const w = the();
    const [ada, bob] = [await w.user("ada"), await w.user("bob", undefined, "OIDC")];
    for (const person of [ada, bob]) await w.grant(person, "auditor");
    await setRule("AUDITOR", "REQUIRED", 0);
    expect(await reasonFor(bob)).to.equal("done");
    expect(await standing(bob)).to.deep.equal({ level: "OFF", addBy: null });
    const server = await startServer(w.database.url, { ...noLimits, STEWARD_SECOND_FACTORS: "off" });
    try {
      const me = new Client(server.url, ada.token);
      expect((await me.failure("{ me { id } }")).errors[0]!.extensions.reason).to.equal("second_factor_required");
      await addAuthenticator(me);
      const login = { email: ada.email, password: userPassword };
      expect((await new Client(server.url).post("/api/v2/users/login", login)).status, "asks for a code").to.equal(401);
      await setRule("AUDITOR", "OFF");
      expect((await new Client(server.url).post("/api/v2/users/login", login)).status, "it is off").to.equal(201);
    } finally {
      await server.close();
    }
  });

  it("replace each other one by one, and changes of days do not begin them again", async () => {
    const w = the();
    const number = 6;
    await Promise.all(Array.from({ length: number }, (_, nr) => setRule("AUDITOR", "REQUIRED", nr + 1)));
    const { secondFactorRules } = await owner().graphql(rules);
    const last = secondFactorRules.at(-1)!;
    const events = await audited(w, { resourceType: "deployment" });
    const sides = events
      .filter(({ resourceLabel, diff }) => resourceLabel === "second factors of auditor" && diff.daysToEnrol)
      .slice(-number)
      .map(({ diff }) => diff.daysToEnrol!);
    // Events are in the order of the beginnings of their transactions, which is not that of the changes.
    const after = new Map(sides.map((each) => [each.old, each.new]));
    const made = new Set(sides.map((each) => each.new));
    let days = sides.find(({ old }) => !made.has(old))!.old;
    for (let nr = 0; nr < number; nr++) days = after.get(days);
    expect(after.size).to.equal(number);
    expect(days).to.equal(last.daysToEnrol);
    await age("auditor", 3);
    const { since } = (await owner().graphql(rules)).secondFactorRules.at(-1)!;
    const changed = await setRule("AUDITOR", "REQUIRED", 30);
    expect(changed.setSecondFactorRule.rule).to.deep.include({ since, daysToEnrol: 30 });
    await setRule("AUDITOR", "OPTIONAL");
    const again = (await setRule("AUDITOR", "REQUIRED", 30)).setSecondFactorRule.rule;
    expect(Date.parse(again.since)).to.be.greaterThan(Date.parse(since));
  });

  it("take a recent proof of holders of a factor, are audited with what changes, and say what is wrong", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { recoveryCodes } = await addAuthenticator(w.as(ada));
    await w.grant(ada, "owner");
    await letPass(w, "api_keys", { user_id: ada.id }, "11 min", ["created_at", "proved_at"]);
    see(ada);
    const input = { role: "TEMPLATE_ADMIN", level: "REQUIRED", daysToEnrol: 7 };
    expect((await w.as(ada).failure(set, { input })).code).to.equal("STEP_UP_REQUIRED");
    const there = { organization: "default", level: "OPTIONAL" };
    expect((await w.as(ada).failure(setThere, { input: there })).code).to.equal("STEP_UP_REQUIRED");
    const prove = `mutation($input: ProveIdentityInput!) { proveIdentity(input: $input) { proven } }`;
    await w.as(ada).graphql(prove, { input: { oneTimeCode: recoveryCodes[0] } });
    await w.as(ada).graphql(set, { input });
    await w.as(ada).graphql(set, { input });
    await w.as(ada).graphql(setThere, { input: there });
    const events = await audited(w, { actor: ada.id });
    const changes = events.filter(({ diff }) => "secondFactors" in (diff ?? {}));
    expect(changes.map(({ resourceType, diff }) => [resourceType, diff])).to.have.deep.members([
      ["deployment", { secondFactors: { old: "off", new: "required" }, daysToEnrol: { old: 14, new: 7 } }],
      ["organization", { secondFactors: { old: "off", new: "optional" } }],
    ]);
    for (const [wrong, field] of [
      [{ ...input, role: "ORGANIZATION_ADMIN" }, "input.role"],
      [{ ...input, daysToEnrol: 366 }, "input.daysToEnrol"],
      [{ ...input, daysToEnrol: -1 }, "input.daysToEnrol"],
    ] as const) {
      const { errors } = await w.as(ada).failure(set, { input: wrong });
      expect(errors[0]!.extensions.validations[0]!.field).to.equal(field);
    }
  });
});
