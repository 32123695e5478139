// The dashboard that docs/clients.md describes: its types generated and compiled, and its code run against a server.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ApolloClient, ObservableQuery } from "@apollo/client";
import { expect } from "chai";
import { buildSchema, isInputObjectType, isRequiredInputField } from "graphql";
import type { Observable } from "rxjs";
import { startServer } from "../support/app.js";
import { deliver } from "../support/inbox.js";
import { freePort } from "../support/ports.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";
import { everyOperation } from "./everything.js";
import { filesIn, Project, root, schemaText } from "./project.js";

/** The code of the document, as far as its tests use it. */
interface Dashboard {
  connect(server: string, token: string): ApolloClient;
  listUsers(
    apollo: ApolloClient,
    filter: object,
    orderBy: object,
    first: number,
  ): { list: ObservableQuery<{ users: UserPage }>; more: () => Promise<unknown> };
  createGroup(
    apollo: ApolloClient,
    input: object,
  ): Promise<{ group?: { name: string }; validations?: Array<{ field: string }> }>;
  watchInbox(apollo: ApolloClient, since?: string): Observable<{ data?: { inboxEvents: InboxEvent } }>;
}

interface UserPage {
  edges: Array<{ node: { username: string } }>;
  pageInfo: { hasNextPage: boolean };
}

interface InboxEvent {
  unreadCount: number;
  notification?: { title: string };
}

describe("the dashboard of docs/clients.md", () => {
  const w = world();
  const endings: Array<() => unknown> = [];
  afterEach(async () => {
    for (const end of endings.splice(0).toReversed()) await end();
  });

  let project: Project;
  let dashboard: Dashboard;
  before(async () => {
    const document = readFileSync(join(root, "docs/clients.md"), "utf8");
    project = new Project({ ...filesIn(document), "src/everything.ts": everyOperation() });
    await project.run("graphql-codegen");
    const modules = ["client", "users", "groups", "inbox"].map((name) => project.load(`src/${name}.ts`));
    dashboard = Object.assign({}, ...(await Promise.all(modules))) as Dashboard;
  });
  after(() => project.remove());

  const connect = (token: string, url = w().url) => {
    const apollo = dashboard.connect(url, token);
    endings.push(() => apollo.stop());
    return apollo;
  };

  const createServiceAccount = (username: string) =>
    w()
      .as(w().owner)
      .graphql("mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }", {
        input: { username, email: `${username}@example.com`, isServiceAccount: true },
      });

  it("has generated types for every operation of the schema that compile strictly", async () => {
    expect(await project.compile()).to.equal("");
  });

  it("has a type for every scalar in its results and inputs", () => {
    const [generated = ""] = project.read("src/gql/graphql.ts").split("\nexport const ");
    const helpers = /^\/\*\* Internal type.*\n.*\n/gm;
    const types = generated.replace(helpers, "").replace(/\/\*\*[^]*?\*\//g, "");
    expect(types.match(/.{0,80}\b(any|unknown)\b/g) ?? []).to.deep.equal([]);
    expect(types).to.include("JsonObject");
  });

  it("has inputs whose fields are required where the schema requires them, and optional elsewhere", () => {
    const generated = new Map(
      [...project.read("src/gql/graphql.ts").matchAll(/^export type (\w+) = \{\n([^]*?)^\};/gm)].map(
        ([, name = "", body = ""]) => [name, body],
      ),
    );
    const inputs = Object.values(buildSchema(schemaText).getTypeMap()).filter(isInputObjectType);
    expect(inputs).to.have.length.greaterThan(50);
    const wrong = inputs.flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => {
          const form = `^  ${field.name}${isRequiredInputField(field) ? "" : "\\?"}: `;
          return !new RegExp(form, "m").test(generated.get(type.name) ?? "");
        })
        .map((field) => `${type.name}.${field.name}`),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("pages through users, sorted", async () => {
    const usernames = ["page-1", "page-2", "page-3", "page-4", "page-5"];
    for (const username of usernames) await createServiceAccount(username);
    for (const [orderBy, expected] of [
      [{ field: "CREATED_AT", direction: "DESC" }, usernames.toReversed()],
      [{ field: "USERNAME", direction: "ASC" }, usernames],
    ] as const) {
      const { list, more } = dashboard.listUsers(connect(w().owner.token), { search: "page-" }, orderBy, 2);
      let names: string[] = [];
      const subscription = list.subscribe(({ data, dataState }) => {
        if (dataState === "complete") names = data.users.edges.map(({ node }) => node.username);
      });
      endings.push(() => subscription.unsubscribe());
      await eventually(() => names.length === 2, "the first page");
      await more();
      await eventually(() => names.length === 4, "the second page");
      await more();
      await eventually(() => names.length === 5, "the third page");
      expect(names).to.deep.equal(expected);
      expect(list.getCurrentResult().data?.users?.pageInfo).to.include({ hasNextPage: false });
    }
  });

  it("creates groups and shows errors by field", async () => {
    const apollo = connect(w().owner.token);
    const { group } = await dashboard.createGroup(apollo, { organization: "default", name: "typed" });
    expect(group).to.include({ name: "typed" });
    const { validations } = await dashboard.createGroup(apollo, {
      organization: "default",
      name: "-",
      quotaAllowance: -1,
    });
    expect(validations!.map(({ field }) => field)).to.deep.equal(["input.name", "input.quotaAllowance"]);
  });

  it("watches the inbox, and misses nothing and repeats nothing when the server restarts", async () => {
    const [ada] = await w().users("ada");
    // Not a port of the system's choice: it could give the same one to another program in between.
    const settings = { STEWARD_PORT: String(await freePort("127.0.0.1")) };
    const first = await startServer(w().database.url, settings);
    const events: InboxEvent[] = [];
    const subscription = dashboard
      .watchInbox(connect(ada!.token, first.url))
      .subscribe(({ data }) => data && events.push(data.inboxEvents));
    endings.push(() => subscription.unsubscribe());
    const titles = () => events.flatMap(({ notification }) => notification?.title ?? []);
    await eventually(() => events.length > 0, "the watch begins");
    await deliver(w().app, ada!.id, ["Tea"]);
    await eventually(() => titles().length === 1, "the first event");
    await first.close();
    await deliver(w().app, ada!.id, ["Cake"]);
    const second = await startServer(w().database.url, settings);
    endings.push(() => second.close());
    await eventually(() => titles().length === 2, "the event that arrived meanwhile", 10_000);
    await deliver(w().app, ada!.id, ["Biscuit"]);
    await eventually(() => titles().length === 3, "the watch goes on");
    expect(titles()).to.deep.equal(["Tea", "Cake", "Biscuit"]);
  });

  it("stops watching when the session ends", async () => {
    const [ada] = await w().users("ada");
    const ended = new Promise((resolve, reject) => {
      const watched = dashboard.watchInbox(connect(ada!.token));
      const subscription = watched.subscribe({
        next: () =>
          void w()
            .as(ada!)
            .graphql("mutation { logout { apiKeyId } }")
            .catch(() => {}),
        error: resolve,
        complete: () => reject(new Error("The watch completed.")),
      });
      endings.push(() => subscription.unsubscribe());
    });
    expect(String(await ended)).to.include("4403");
  });
});
