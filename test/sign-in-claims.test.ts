// Claims of providers become groups, organizations, and roles, and take away no more than they gave.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { setUserRoles } from "./support/accounts.js";
import { AgentProgram } from "./support/agent-api.js";
import { logged } from "./support/app.js";
import { audited } from "./support/audit.js";
import { ForgingProvider } from "./support/forging-provider.js";
import { client } from "./support/providers.js";
import { Visitor } from "./support/provider-visits.js";
import { insert } from "./support/stage.js";
import { TaskStage } from "./support/tasks.js";
import { eventually } from "./support/watchers.js";
import { type Anything, type Person, world } from "./support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { id claimMappings { claim absent empty malformed } } } }`;
const remove = `mutation($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id } } }`;
const begin = `mutation($input: TestIdentityProviderInput!) { testIdentityProvider(input: $input) { url } }`;

describe("claims of providers", () => {
  const getWorld = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let one: ForgingProvider;
  let two: ForgingProvider;
  let home = "";
  let ada: Person;
  let made = 0;
  let team: { id: string; name: string };
  let crew: { id: string; name: string };
  let lab: { id: string; name: string };
  const owner = () => getWorld().as(getWorld().owner);

  beforeEach(async () => {
    const w = getWorld();
    logged.length = 0;
    home = w.app.services.config.accessUrl;
    [one, two] = [await ForgingProvider.open(), await ForgingProvider.open()];
    for (const [name, { issuer }] of Object.entries({ one, two }))
      await owner().graphql(create, {
        input: {
          name,
          kind: "OIDC",
          issuer,
          clientId: client.id,
          clientSecret: client.secret,
          emailDomains: ["example.com"],
          appliesClaims: true,
        },
      });
    ada = await w.user("ada", undefined, "OIDC");
    made += 1;
    [team, crew, lab] = [
      await w.group(`team-${made}`),
      await w.group(`crew-${made}`),
      await w.organization(`lab-${made}`),
    ];
  });
  afterEach(async () => {
    for (const provider of ["one", "two"])
      await owner().graphql(remove, { input: { provider, strandedUserCount: 99 } });
    await one.close();
    await two.close();
  });

  /** Maps claims of a provider. */
  const map = (provider: string, ...claimMappings: Anything[]) =>
    owner().graphql(update, { input: { provider, claimMappings } });

  /** Signs Ada in at the first provider, or another one, with claims. Returns the browser. */
  async function signIn(claims: Record<string, unknown>, name = "one", path = `/login/${name}`, browser?: Visitor) {
    const provider = name === "one" ? one : two;
    const visitor = browser ?? new Visitor(home);
    const begun = await visitor.request(new URL(path, home));
    const { searchParams } = new URL(begun.headers.get("location")!);
    provider.nonce = searchParams.get("nonce")!;
    provider.claims = { sub: "ada", email: ada.email, ...claims };
    const query = new URLSearchParams({ code: "a-code", state: searchParams.get("state")! }).toString();
    const back = await visitor.request(new URL(`/login/${name}/callback?${query}`, home));
    const text = (await back.text()).replace(/<style[^]*?<\/style>|<[^>]+>/g, " ").replace(/\s+/g, " ");
    return { visitor, status: back.status, text };
  }

  /** The access of Ada: the names of groups and organizations, and roles with their organization. */
  async function access(): Promise<string[]> {
    const { user, organizations, groups } = await owner().graphql(
      `query($user: String!) {
        user(user: $user) { organizations { id } roles { name organizationId } groups(first: 50) { nodes { name } } }
        organizations { id name }
        groups(first: 1) { totalCount }
      }`,
      { user: ada.id },
    );
    expect(groups.totalCount).to.be.greaterThan(0);
    const others = user.organizations.filter((each) => each.id !== getWorld().defaultOrganization);
    const nameOf = (id: string) => organizations.find((each) => each.id === id)?.name ?? "";
    return [
      ...user.groups.nodes.map((each) => `group ${each.name}`),
      ...others.map((each) => `organization ${nameOf(each.id)}`),
      ...user.roles.map((each) => `${each.name} ${nameOf(each.organizationId)}`.trim()),
    ]
      .filter((each) => each !== "group Everyone")
      .toSorted((a, b) => (a < b ? -1 : 1));
  }

  /** Waits until the report of the first provider warns of something. */
  const warned = (text: string) =>
    eventually(async () => {
      const { identityProvider } = await owner().graphql(
        `{ identityProvider(provider: "one") { report { warnedAt warning } } }`,
      );
      return identityProvider.report.warnedAt !== null && identityProvider.report.warning.includes(text);
    }, text);

  const grants = () => [
    { values: ["engineers"], groups: [team.id] },
    { values: ["sailors", "captains"], groups: [crew.name] },
    { values: ["lab"], organization: lab.name, roles: ["ORGANIZATION_AUDITOR"] },
    { values: ["auditors"], roles: ["AUDITOR"] },
  ];

  it("give groups, organizations, and roles, each recorded with the claim, and take away their own alone", async () => {
    await map("one", { claim: "groups", grants: grants() });
    await owner().patch(`/api/v2/groups/${crew.id}`, { add_users: [ada.id] });
    await signIn({ groups: ["engineers", "sailors", "lab", "auditors", "unknown"] });
    const all = [
      "AUDITOR",
      `ORGANIZATION_AUDITOR ${lab.name}`,
      `group ${crew.name}`,
      `group ${team.name}`,
      `organization ${lab.name}`,
    ];
    expect(await access()).to.deep.equal(all);
    const joined = await audited(getWorld(), { resourceId: team.id, action: "UPDATE" });
    expect(joined.at(-1)).to.deep.include({
      actorId: ada.id,
      diff: { members: { old: [], new: [ada.id] }, provider: { new: "one" }, claim: { new: "groups: engineers" } },
    });
    await signIn({ groups: ["engineers"] });
    // A person was added to the crew by hand.
    expect(await access()).to.deep.equal([`group ${crew.name}`, `group ${team.name}`]);
    await signIn({ groups: [] });
    expect(await access()).to.deep.equal([`group ${crew.name}`]);
    const events = await audited(getWorld(), { resourceId: ada.id });
    const claims = events.map(({ diff }) => (diff as Anything).claim?.new).filter(Boolean);
    expect(claims).to.include.members(["groups: lab", "groups: auditors", "groups: no longer"]);
  });

  it("that are absent, empty, or malformed do what their setting says", async () => {
    const [keep, take] = ["KEEP", "REMOVE"];
    const overage = {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://graph.example" } },
    };
    const cases: Array<[settings: object, claims: object, isKept: boolean, warns?: true]> = [
      [{}, {}, true],
      [{ absent: take }, {}, false],
      [{}, { groups: [] }, false],
      [{}, { groups: "" }, false],
      [{ empty: keep }, { groups: [] }, true],
      [{}, { groups: { engineers: true } }, true, true],
      [{}, { groups: ["engineers", { name: "x" }] }, true, true],
      [{}, { groups: Array.from({ length: 1001 }, (_, nr) => `g${nr}`) }, true, true],
      [{}, overage, true, true],
      [{}, { hasgroups: true }, true, true],
      [{ malformed: take }, overage, false, true],
    ];
    for (const [settings, claims, isKept, warns] of cases) {
      await map("one", { claim: "groups", grants: grants(), ...settings });
      await signIn({ groups: ["engineers"] });
      const what = JSON.stringify([settings, claims]).slice(0, 200);
      expect(await access(), what).to.deep.equal([`group ${team.name}`]);
      logged.length = 0;
      expect((await signIn(claims as Record<string, unknown>)).status, what).to.equal(303);
      expect(await access(), what).to.deep.equal(isKept ? [`group ${team.name}`] : []);
      const warnings = logged.filter(({ msg }) => msg === "Claims of a sign-in could not be applied.");
      expect(warnings, what).to.have.length(warns ? 1 : 0);
    }
    await warned("The claim groups is malformed, or was left out for its size.");
  });

  it("are read by paths and separators", async () => {
    await map(
      "one",
      { claim: "realm_access.roles", grants: [{ values: ["engineers"], groups: [team.id] }] },
      { claim: "https://example.com/roles", separator: ",", grants: [{ values: ["sailors"], groups: [crew.id] }] },
    );
    await signIn({ realm_access: { roles: ["engineers"] }, "https://example.com/roles": "x, sailors" });
    expect(await access()).to.deep.equal([`group ${crew.name}`, `group ${team.name}`]);
    // Names of the language are no claims.
    await map("one", {
      claim: "constructor.name",
      absent: "REMOVE",
      grants: [{ values: ["Object"], groups: [team.id] }],
    });
    await signIn({});
    expect(await access()).to.deep.equal([]);
  });

  it("make groups by name within a pattern and a bound", async () => {
    const prefix = `eng-${made}`;
    const mapping = { claim: "groups", groupsOf: "default", groupPattern: `${prefix}-*`, mostNewGroups: 2 };
    await map("one", mapping);
    const groups = [`${prefix}-a`, `${prefix}-b`, `${prefix}-c`, "other", `${prefix}-not valid`];
    await signIn({ groups });
    expect(await access()).to.deep.equal([`group ${prefix}-a`, `group ${prefix}-b`]);
    await warned(`so that ${prefix}-c is not made`);
    await signIn({ groups: [`${prefix}-b`] });
    expect(await access()).to.deep.equal([`group ${prefix}-b`]);
    const found = await owner().graphql(
      `query($s: String) { groups(first: 9, filter: { search: $s }) { nodes { name source } } }`,
      {
        s: prefix,
      },
    );
    expect(found.groups.nodes.map((each) => each.source)).to.deep.equal(["OIDC", "OIDC"]);
  });

  it("of several providers leave each other's gifts alone", async () => {
    for (const name of ["one", "two"]) await map(name, { claim: "groups", grants: grants() });
    await signIn({ groups: ["engineers"] });
    await insert(getWorld(), {
      user_links: [
        { provider: "two", kind: "oidc", issuer: two.issuer, subject: "ada", user_id: ada.id, created_at: "now" },
      ],
    });
    await signIn({ groups: ["engineers", "sailors"] }, "two");
    await signIn({ groups: [] });
    expect(await access()).to.deep.equal([`group ${crew.name}`, `group ${team.name}`]);
    await signIn({ groups: [] }, "two");
    expect(await access()).to.deep.equal([]);
  });

  it("never take the role of the last owner", async () => {
    await map("one", { claim: "groups", grants: [{ values: ["owners"], roles: ["OWNER"] }] });
    const { visitor } = await signIn({ groups: ["owners"] });
    expect(await access()).to.deep.equal(["OWNER"]);
    const demote = (user: string, roles: string[]) => visitor.client.graphql(setUserRoles, { input: { user, roles } });
    await demote(getWorld().owner.id, []);
    await signIn({ groups: [] });
    const { user } = await visitor.client.graphql(`{ user(user: "me") { roles { name } } }`);
    expect(user.roles).to.deep.equal([{ name: "OWNER" }]);
    await demote(getWorld().owner.id, ["OWNER"]);
    await signIn({ groups: [] });
    expect(await access()).to.deep.equal([]);
  });

  it("keep people in organizations where they own workspaces, or hold more", async () => {
    await map("one", { claim: "groups", grants: grants() });
    await signIn({ groups: ["lab"] });
    await getWorld().workspace(ada, { organization: lab.id });
    await signIn({ groups: [] });
    expect(await access()).to.deep.equal([`organization ${lab.name}`]);
  });

  it("end rights before the response of the sign-in, in other sessions as well", async () => {
    await map("one", { claim: "groups", grants: grants() });
    const { visitor } = await signIn({ groups: ["auditors", "engineers"] });
    const events = "{ auditEvents(first: 1) { nodes { id } } }";
    expect((await visitor.client.graphql(events)).auditEvents.nodes).to.have.length(1);
    await signIn({ groups: ["engineers"] });
    expect((await visitor.client.failure(events)).code).to.equal("FORBIDDEN");
  });

  it("end open sockets of those who lose a group on which a share rests", async () => {
    const program = await AgentProgram.open();
    const stage = await TaskStage.open(getWorld(), program);
    await map("one", { claim: "groups", grants: grants() });
    const { visitor } = await signIn({ groups: ["engineers"] });
    const bob = await getWorld().user("bob");
    const { task } = await stage.active(bob);
    await getWorld()
      .as(bob)
      .graphql(`mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`, {
        input: { workspace: task.workspace_id.uuid, groupPerms: [{ id: team.id, role: "use" }] },
      });
    const socket = createClient({
      url: `${getWorld().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: visitor.token },
      retryAttempts: 0,
    });
    program.say("agent", "Hello");
    let seen = 0;
    const end = new Promise((resolve) => {
      socket.subscribe(
        { query: `subscription { taskMessages(id: "${task.id}") { content } }` },
        {
          next: ({ errors }) => (errors ? resolve(errors[0]!.extensions!.code) : seen++),
          error: (errors) => Array.isArray(errors) && resolve(errors[0].extensions.code),
          complete: () => resolve("complete"),
        },
      );
    });
    await eventually(() => Promise.resolve(seen > 0), "the first message");
    await signIn({ groups: [] });
    expect(await end).to.be.oneOf(["NOT_FOUND", "FORBIDDEN"]);
    await socket.dispose();
    stage.close();
    await program.close();
  });

  it("have no effect until they are applied, and show it in a test", async () => {
    await map("one", { claim: "groups", grants: grants() });
    await owner().graphql(update, { input: { provider: "one", appliesClaims: false } });
    await signIn({ groups: ["engineers"] });
    expect(await access()).to.deep.equal([]);
    const browser = new Visitor(home);
    browser.keep("service_session_token", await getWorld().session(getWorld().owner.id));
    const { testIdentityProvider } = await browser.client.graphql(begin, { input: { provider: "one" } });
    const path = testIdentityProvider.url.slice(home.length);
    const { status, text } = await signIn({ groups: ["engineers", "lab"] }, "one", path, browser);
    expect(status).to.equal(200);
    for (const part of [
      "Effect of the claims, once they are applied",
      `joins the group ${team.name} (groups: engineers)`,
      `joins the organization ${lab.name} (groups: lab)`,
    ])
      expect(text).to.contain(part);
    expect(await access()).to.deep.equal([]);
  });

  it("are tried on the last sign-ins before they are applied, which changes nothing", async () => {
    const attempt = `mutation { tryClaimMappings(input: { provider: "one" }) { people { username effects { text isWarning } } skippedCount } }`;
    const attempted = async () => (await owner().graphql(attempt)).tryClaimMappings;
    await owner().graphql(update, { input: { provider: "one", appliesClaims: false } });
    await signIn({ groups: ["engineers"] });
    expect(await attempted(), "without a mapping, no claims are kept").to.deep.equal({ people: [], skippedCount: 1 });
    await map("one", { claim: "groups", grants: grants() });
    await signIn({ groups: ["sailors"] });
    await signIn({ groups: ["engineers", "auditors"] });
    const effects = [
      { text: "has the roles auditor in the deployment (groups: auditors)", isWarning: false },
      { text: `joins the group ${team.name} (groups: engineers)`, isWarning: false },
    ];
    expect(await attempted()).to.deep.equal({ people: [{ username: ada.username, effects }], skippedCount: 0 });
    expect(await access()).to.deep.equal([]);
    await map("one", { claim: "groups", grants: [{ values: ["engineers"], groups: [crew.id] }] });
    expect((await attempted()).people[0]!.effects).to.deep.equal([
      { text: `joins the group ${crew.name} (groups: engineers)`, isWarning: false },
    ]);
    const others = `mutation($input: TryClaimMappingsInput!) { tryClaimMappings(input: $input) { people { effects { text } } skippedCount } }`;
    const other = { provider: "one", claimMappings: [{ claim: "groups", grants: grants() }] };
    for (const [input, people] of [
      [{ ...other, user: ada.username }, [{ effects: effects.map(({ text }) => ({ text })) }]],
      [{ ...other, user: getWorld().owner.id }, []],
      [{ ...other, claimMappings: [] }, [{ effects: [] }]],
    ] as const)
      expect((await owner().graphql(others, { input })).tryClaimMappings.people).to.deep.equal(people);
    expect((await attempted()).people[0]!.effects, "they are not stored").to.have.length(1);
    const faulty = [{ claim: "groups", grants: [{ values: ["x"], groups: ["nowhere"] }] }];
    const { errors } = await owner().failure(others, { input: { ...other, claimMappings: faulty } });
    expect(errors[0]!.extensions.validations[0]!.field).to.equal("input.claimMappings[0].grants[0].groups[0]");
    expect((await owner().failure(others, { input: { ...other, user: "unknown" } })).code).to.equal("NOT_FOUND");
    await owner().graphql(update, { input: { provider: "one", appliesClaims: true } });
    await signIn({ groups: ["engineers"] });
    expect(await attempted(), "claims that are applied are not kept").to.deep.equal({ people: [], skippedCount: 1 });
  });

  it("lock the groups that they made, if that is set, and leave others", async () => {
    const prefix = `locked-${made}`;
    const mapping = { claim: "groups", groupsOf: "default", groupPattern: `${prefix}-*`, mostNewGroups: 99 };
    await map("one", mapping);
    await signIn({ groups: [`${prefix}-a`] });
    const { groups } = await owner().graphql(
      `{ groups(filter: { source: OIDC }, first: 50) { nodes { id name source } } }`,
    );
    const group = groups.nodes.find(({ name }) => name === `${prefix}-a`);
    expect(group).to.include({ name: `${prefix}-a`, source: "OIDC" });
    const change = (id: string, input: Anything) => owner().patch(`/api/v2/groups/${id}`, input);
    const bob = await getWorld().user("bob");
    expect((await change(group!.id, { add_users: [bob.id] })).status).to.equal(200);
    await owner().graphql(update, { input: { provider: "one", locksGroups: true } });
    for (const input of [{ remove_users: [bob.id] }, { remove_users: [ada.id] }, { name: "another" }]) {
      const { status, body } = await change(group!.id, input);
      expect({ status, message: body.message }).to.deep.equal({
        status: 409,
        message: "The name and the members of this group come from 127.0.0.1. Change them there.",
      });
    }
    expect((await change(group!.id, { display_name: "Shown" })).status).to.equal(200);
    expect((await change(team.id, { add_users: [bob.id] })).status).to.equal(200);
    await signIn({ groups: [] });
    expect(await access()).to.deep.equal([]);
    await owner().graphql(update, { input: { provider: "one", appliesClaims: false } });
    expect((await change(group!.id, { remove_users: [bob.id] })).status).to.equal(200);
  });

  it("cannot be mapped by faulty settings", async () => {
    const faulty = [
      { claim: "a b", grants: [{ values: [], groups: ["nowhere"] }] },
      { claim: "groups", mostNewGroups: 1 },
    ];
    const { errors } = await owner().failure(update, { input: { provider: "one", claimMappings: faulty } });
    const fields = errors[0]!.extensions.validations.map(({ field }) => field);
    expect(fields).to.include.members(["input.claimMappings[0].claim", "input.claimMappings[0].grants[0].values"]);
    for (const [mapping, field] of [
      [{ claim: "groups", grants: [{ values: ["x"], groups: ["nowhere"] }] }, "grants[0].groups[0]"],
      [{ claim: "groups", grants: [{ values: ["x"], organization: "nowhere" }] }, "grants[0].organization"],
      [{ claim: "groups", grants: [{ values: ["x"], roles: ["ORGANIZATION_ADMIN"] }] }, "grants[0].roles[0]"],
      [
        { claim: "groups", grants: [{ values: ["x"], organization: "default", roles: ["OWNER"] }] },
        "grants[0].roles[0]",
      ],
      [{ claim: "groups", mostNewGroups: 1 }, "groupsOf"],
    ] as const) {
      const failure = await owner().failure(update, { input: { provider: "one", claimMappings: [mapping] } });
      const [fault] = failure.errors[0]!.extensions.validations;
      expect(fault!.field).to.equal(`input.claimMappings[0].${field}`);
    }
    const admin = await getWorld().user("admin");
    await owner().graphql(setUserRoles, { input: { user: admin.id, roles: ["USER_ADMIN"] } });
    const input = {
      provider: "one",
      claimMappings: [{ claim: "groups", grants: [{ values: ["x"], roles: ["OWNER"] }] }],
    };
    expect((await getWorld().as(admin).failure(update, { input })).code).to.equal("FORBIDDEN");
  });

  it("are applied as they are mapped when the sign-in ends, or not at all", async () => {
    await map("one", { claim: "groups", grants: grants() });
    let release = () => {};
    one.held = new Promise((resolve) => (release = resolve));
    const before = one.requested.length;
    const response = signIn({ groups: ["engineers"] });
    while (!one.requested.slice(before).includes("/token")) await new Promise(setImmediate);
    await map("one", { claim: "groups", grants: [{ values: ["engineers"], groups: [crew.id] }] });
    release();
    expect((await response).text).to.contain("An administrator has just changed this provider.");
    expect(await access()).to.deep.equal([]);
    one.held = Promise.resolve();
    await signIn({ groups: ["engineers"] });
    expect(await access()).to.deep.equal([`group ${crew.name}`]);
  });
});
