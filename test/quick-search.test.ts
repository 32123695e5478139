// The search by name over all kinds of objects: what each kind of caller finds, which is what its lists have.
import { expect } from "chai";
import { type TaskStage, withTasks } from "./support/tasks.js";
import { makeTemplate } from "./support/templates.js";
import { type Client, type Person, world } from "./support/world.js";

const query = `query($text: String!) { search(text: $text) { kind id name displayName ownerName organizationName } }`;

/** The ids of all objects that the lists of a caller have for a text, by kind. Lists that reject the caller have none. */
const lists = {
  WORKSPACE: `workspaces(filter: { search: $text }) { nodes { id } }`,
  TASK: `tasks(filter: { search: $text }) { nodes { id } }`,
  TEMPLATE: `templates(filter: { search: $text }) { nodes { id } }`,
  USER: `users(filter: { search: $text }) { nodes { id } }`,
  GROUP: `groups(filter: { search: $text }) { nodes { id } }`,
  APPLICATION: `oauth2Apps(q: $text) { nodes { id } }`,
};

describe("the search by name", () => {
  const the = world();
  let stage: TaskStage;
  let ada: Person;
  const made: Record<string, string> = {};

  withTasks(the, (opened) => ({ stage } = opened));

  const find = async (who: Client, text: string) => (await who.graphql(query, { text })).search;
  const namesOf = async (who: Client, text: string) =>
    (await find(who, text)).map(({ kind, name }) => `${kind} ${name}`);

  before(async () => {
    const w = the();
    const away = await w.organization();
    ada = await w.user("heron");
    const { task } = await stage.active(ada, { name: "heron-task" });
    await w.workspace(ada, { name: "heron-box" });
    await w.workspace(w.owner, { name: "heron-nest" });
    await w.group("heron-crew", { members: [ada] });
    await w.group("heron-away", { organization: away.id });
    await makeTemplate(w, { name: "heron-open" });
    await makeTemplate(w, { name: "heron-closed", everyoneCanUse: false });
    const { createOAuth2App } = await w.as(w.owner).graphql(
      `mutation { createOAuth2App(input: { name: "Heron app", callbackUrl: "https://app.example.com/" }) {
        oauth2App { id } } }`,
    );
    Object.assign(made, { task: task.id, application: createOAuth2App.oauth2App.id, away: away.name });
  });

  /** Found in the default organization by who sees all of it. */
  const atHome = ["TEMPLATE heron-closed", "TEMPLATE heron-open"];
  const theirs = ["WORKSPACE heron-box", "WORKSPACE heron-nest", "WORKSPACE heron-task", "TASK heron-task"];

  const callers: Record<string, { as: (w: ReturnType<typeof the>) => Promise<Client>; finds: () => string[] }> = {
    "an owner": {
      as: async (w) => w.as(w.owner),
      finds: () => [
        ...theirs,
        ...atHome,
        `USER ${ada.username}`,
        "GROUP heron-away",
        "GROUP heron-crew",
        "APPLICATION Heron app",
      ],
    },
    "a member with objects of their own": {
      as: async (w) => w.as(ada),
      finds: () => [
        "WORKSPACE heron-box",
        "WORKSPACE heron-task",
        "TASK heron-task",
        "TEMPLATE heron-open",
        `USER ${ada.username}`,
        "GROUP heron-crew",
        "APPLICATION Heron app",
      ],
    },
    "another member": {
      as: async (w) => w.as(await w.user("other")),
      finds: () => ["TEMPLATE heron-open", "APPLICATION Heron app"],
    },
    "an administrator of the organization": {
      as: async (w) => {
        const admin = await w.user("admin");
        await w.grant(admin, "organization-admin");
        return w.as(admin);
      },
      finds: () => [...theirs, ...atHome, `USER ${ada.username}`, "GROUP heron-crew", "APPLICATION Heron app"],
    },
    "an auditor": {
      as: async (w) => {
        const auditor = await w.user("auditor");
        await w.grant(auditor, "auditor");
        return w.as(auditor);
      },
      finds: () => [...atHome, `USER ${ada.username}`, "GROUP heron-away", "GROUP heron-crew", "APPLICATION Heron app"],
    },
    "a template administrator": {
      as: async (w) => {
        const admin = await w.user("templates");
        await w.grant(admin, "template-admin");
        return w.as(admin);
      },
      finds: () => [
        ...theirs,
        ...atHome,
        `USER ${ada.username}`,
        "GROUP heron-away",
        "GROUP heron-crew",
        "APPLICATION Heron app",
      ],
    },
    "a service account": {
      as: async (w) => {
        const { createUser } = await w.as(w.owner).graphql(
          `mutation($organizations: [UUID!]!) { createUser(input: { email: "bot@example.com", username: "bot",
            isServiceAccount: true, organizationIds: $organizations }) { user { id } } }`,
          { organizations: [w.defaultOrganization] },
        );
        return w.as({ token: await w.session(createUser.user.id) });
      },
      finds: () => ["TEMPLATE heron-open", "APPLICATION Heron app"],
    },
    "a token for workspaces only": {
      as: async (w) => w.as(await w.scoped(ada, "workspace:read")),
      finds: () => ["WORKSPACE heron-box", "WORKSPACE heron-task"],
    },
    "an owner's token for users and groups": {
      as: async (w) => w.as(await w.scoped(w.owner, "user:read", "group:read")),
      finds: () => [`USER ${ada.username}`, "GROUP heron-away", "GROUP heron-crew"],
    },
    "a token for other things": {
      as: async (w) => w.as(await w.scoped(w.owner, "license:read")),
      finds: () => [],
    },
  };

  for (const [who, { as, finds }] of Object.entries(callers))
    it(`finds what ${who} may list, and no more`, async () => {
      const client = await as(the());
      const found = await find(client, "heron");
      expect(found.map(({ kind, name }) => `${kind} ${name}`)).to.have.members(finds());
      for (const [kind, list] of Object.entries(lists)) {
        const { body } = await client.post("/graphql", {
          query: `query($text: String!) { list: ${list} }`,
          variables: { text: "heron" },
        });
        const listed = (body.data?.list?.nodes ?? []).map(({ id }: { id: string }) => id);
        const ids = found.filter((each) => each.kind === kind).map(({ id }) => id);
        expect(ids, kind).to.have.members(listed);
      }
    });

  it("is for users: callers without an account are not authenticated", async () => {
    const failure = await the().nobody.failure(query, { text: "heron" });
    expect(failure.code).to.equal("UNAUTHENTICATED");
  });

  it("says whose objects they are, and where", async () => {
    const found = await find(the().as(the().owner), "heron");
    const one = (name: string) => found.find((each) => each.name === name)!;
    expect(one("heron-task")).to.include({ ownerName: ada.username, displayName: "" });
    expect(one("heron-crew")).to.include({ ownerName: null });
    expect(one("heron-crew").organizationName).to.equal(one("heron-open").organizationName).and.not.equal("");
    expect(one("heron-away").organizationName).to.not.equal(one("heron-crew").organizationName);
    expect(found.find(({ kind }) => kind === "TASK")!.id).to.equal(made.task);
    expect(one("Heron app")).to.include({ id: made.application, ownerName: null, organizationName: null });
  });

  it("finds names by their beginning first, at most five of each kind, and short texts only there", async () => {
    const w = the();
    const owner = w.as(w.owner);
    for (const nr of [1, 2, 3, 4]) await w.group(`a-stork-${nr}`);
    for (const nr of [5, 6, 7]) await w.group(`stork-${nr}`);
    expect(await namesOf(owner, "STORK")).to.deep.equal(
      ["stork-5", "stork-6", "stork-7", "a-stork-1", "a-stork-2"].map((name) => `GROUP ${name}`),
    );
    expect(await namesOf(owner, "  st ")).to.deep.equal(["GROUP stork-5", "GROUP stork-6", "GROUP stork-7"]);
    expect(await namesOf(owner, "k-5")).to.deep.equal(["GROUP stork-5"]);
    expect(await namesOf(owner, "k-")).to.deep.equal([]);
  });

  it("finds users by email and real name", async () => {
    const owner = the().as(the().owner);
    await owner.graphql(
      `mutation($user: String!) { updateUser(input: { user: $user, name: "Ada Lovelace" }) { __typename } }`,
      { user: ada.id },
    );
    expect(await namesOf(owner, "Lovelace")).to.deep.equal([`USER ${ada.username}`]);
    expect(await namesOf(owner, ada.email)).to.deep.equal([`USER ${ada.username}`]);
  });

  it("takes any text literally", async () => {
    const owner = the().as(the().owner);
    for (const text of ["", "   ", "%", "_", "%%%", "her_n", "\\", "'; select", "\u{1F41A}"])
      expect(await find(owner, text), text).to.deep.equal([]);
    for (const text of ["x".repeat(400), "a\u0000b"]) {
      const failure = await owner.failure(query, { text });
      expect(failure.code, text).to.equal("BAD_USER_INPUT");
    }
  });
});
