// Requests take as many SQL statements for long lists as for short ones, in responses and in their input.
// Looks inside: counts statements, and checks keys without thousands of open streams.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import {
  buildSchema,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { livingKeys } from "../../../src/domain/tokens/snapshots.js";
import { Watches } from "../../../src/domain/tokens/watches.js";
import { newId } from "../../support/ids.js";
import { start } from "../../support/agents.js";
import { connect, disconnect, reported } from "../../support/connections.js";
import { externalAuth, providerAt } from "../../support/external-services.js";
import { insertGrant } from "../../support/oauth2.js";
import { newKey, queueImport, serve } from "../../support/provisioners.js";
import { argumentsOf, requestOf } from "../../support/operations.js";
import { addRecords, recordId } from "../../support/records.js";
import { statementsOf } from "../../support/statements.js";
import { Client, type World, world } from "../../support/world.js";

/** The length of short and of long lists. */
const [few, many] = [1, 4];

const schema = buildSchema(readFileSync("schema.graphql", "utf8"));
const queries = schema.getQueryType()!;

/** The objects that operations of the catalog are about. */
const known = {
  app: recordId("app"),
  group: recordId("group"),
  organization: recordId("organization"),
  template: recordId("template"),
  user: "me",
};

/** The arguments of root fields that require some. Others take the caller or the whole deployment. */
const given: Record<string, string> = {
  ...Object.fromEntries(
    [
      "group",
      "mostUsedTemplates",
      "organizationAiSpend",
      "organizationGroups",
      "organizationMembers",
      "provisionerDaemons",
      "provisionerKeyDaemons",
      "provisionerKeys",
      "templateAcl",
      "templateAclAvailable",
    ].map((field) => [field, argumentsOf(field, known)]),
  ),
  provisionerJobs: `${argumentsOf("provisionerJobs", known)}, filter: { type: TEMPLATE_VERSION_DRY_RUN }`,
  scimGroups: "count: 100",
  scimRequests: `key: "scim-key-1"`,
  scimResources: "count: 100",
};

/** A selection of nested fields, from the outermost. */
type Path = readonly string[];

const documentOf = (path: Path, selection: string) =>
  path.reduceRight((inner, each) => `${each} { ${inner} }`, selection);

const fieldsOf = (type: GraphQLObjectType) => Object.values(type.getFields());

/** Whether a field is a list of objects. */
const isList = ({ type }: GraphQLField<unknown, unknown>) =>
  isObjectType(getNamedType(type)) &&
  (isListType(getNullableType(type)) || getNamedType(type).name.endsWith("Connection"));

/** The way to the objects of a field, and their type; undefined if it takes more arguments than those of pages. */
function stepInto({ name, args, type }: GraphQLField<unknown, unknown>, isRoot: boolean) {
  const own = isRoot ? given[name] : undefined;
  const found = getNamedType(type);
  if (!isObjectType(found) || (own === undefined && args.some(isRequiredArgument))) return undefined;
  const isConnection = found.name.endsWith("Connection");
  // The cost of a document limits its pages.
  const isPaged = isConnection && args.some((each) => each.name === "first");
  const page = isPaged ? `first: ${isRoot ? 2 * many + 1 : many + 1}` : "";
  const all = [own, page].filter(Boolean).join(", ");
  const step = all ? `${name}(${all})` : name;
  if (!isConnection) return { path: [step], node: found };
  return { path: [step, "totalCount nodes"], node: getNamedType(found.getFields().nodes!.type) as GraphQLObjectType };
}

/** All fields of a type but lists of objects, with those of the objects that it leads to. */
function selectionOf(type: GraphQLObjectType, depth = 2): string {
  const selections = fieldsOf(type).map((field) => {
    if (isLeafType(getNamedType(field.type))) return field.args.some(isRequiredArgument) ? "" : field.name;
    const inner = depth > 0 && !isList(field) ? stepInto(field, false) : undefined;
    const selected = inner ? selectionOf(inner.node, depth - 1) : "";
    return selected && `${field.name} { ${selected} }`;
  });
  return selections.filter(Boolean).join(" ");
}

/** For agents only: see the manifest below. */
const ofAgents = "agentManifest";

/** A list of objects, by its type and field, and a way to it. */
interface List {
  name: string;
  path: Path;
  node: GraphQLObjectType;
}

/** All lists of objects that queries reach, by the shortest paths: within other lists where that is possible. */
function listsOfSchema(): List[] {
  const lists: List[] = [];
  const visited = new Set<GraphQLObjectType>();
  const waiting: Array<Pick<List, "path" | "node"> & { isGiven?: boolean }> = [{ path: [], node: queries }];
  const single: typeof waiting = [];
  for (let from = waiting.shift(); from; from = waiting.shift() ?? single.shift()) {
    const { node: type, path, isGiven } = from;
    if (visited.has(type) && !isGiven) continue;
    visited.add(type);
    for (const field of fieldsOf(type)) {
      const name = `${type.name}.${field.name}`;
      const step = field.name === ofAgents ? undefined : stepInto(field, type === queries);
      if (!step) continue;
      const to = { path: [...path, ...step.path], node: step.node };
      if (isList(field)) lists.push({ ...to, name });
      if (isList(field) || type !== queries) waiting.push(to);
      else single.push({ ...to, isGiven: given[field.name] !== undefined });
    }
  }
  return lists;
}

const inOrganization = `/api/v2/organizations/${known.organization}`;
const restLists = [
  ...[
    "externalAuthOverview",
    "group",
    "group with its members",
    "inboxNotifications",
    "licenses",
    "notificationPreferences",
    "oauth2App with its secrets",
    "organizationGroups",
    "provisionerKeyDaemons",
    "provisionerKeys",
    "templateAcl",
    "templateAclAvailable",
    "userSecrets",
    "workspaceProxies",
  ].map((title) => requestOf(title, known)[1]),
  "/api/v2/connectionlog?limit=100",
  "/api/v2/connectionlog?limit=100&q=type:ssh",
  "/api/v2/groups",
  "/api/v2/groups?exclude_members=true",
  `/api/v2/groups/${known.group}/members?q=user`,
  "/api/v2/oauth2-provider/apps",
  `${inOrganization}/groups/group-1`,
  `${inOrganization}/groups/group-1/members`,
  "/api/v2/tasks",
  "/api/v2/tasks?q=status:paused,active",
  "/api/v2/tasks?q=owner:me",
  "/scim/v2/Groups",
  "/scim/v2/Users",
];

/** A redirect to one of the proxies, all of which the URL is compared with. */
const redirect = `/api/v2/applications/auth-redirect?redirect_uri=${encodeURIComponent("https://proxy-1.example.net/")}`;

/** Totals of nested lists that are longer than their page. */
const totals = `{
  groups { nodes { members(first: 1) { totalCount } found: members(first: 1, filter: { search: "r" }) { totalCount } } }
  organizations { members(first: 1) { totalCount } }
  users { nodes { groups(first: 1) { totalCount } } } }`;

/** The length of the longest list at a path of a response. */
function longestAt(value: unknown, [name, ...rest]: readonly string[]): number {
  if (name === undefined) return Array.isArray(value) ? value.length : 0;
  const objects = [value].flat() as Array<Record<string, unknown> | null>;
  return Math.max(0, ...objects.map((each) => longestAt(each?.[name], rest)));
}

/** The number of objects in all lists of a response. */
function objectsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? value.filter((each) => typeof each === "object").length : 0;
  return own + Object.values(value).reduce<number>((sum, each) => sum + objectsIn(each), 0);
}

/** A request for lists. */
interface Read {
  name: string;
  send(client: Client): Promise<unknown>;
  /** Measures a response: the longer its lists, the higher. */
  lengthOf(body: unknown): number;
}

const lists = listsOfSchema();

function overGraphql({ name, path, node }: List): Read {
  const names = path.map((each) => each.split("(")[0]!.split(" ").at(-1)!);
  return {
    name: `${name} (${names.join(".")})`,
    send: (client) => client.graphql(`{ ${documentOf(path, selectionOf(node))} }`),
    lengthOf: (body) => longestAt(body, names),
  };
}

const overRest = (path: string): Read => ({
  name: `GET ${path}`,
  async send(client) {
    const { status, body } = await client.get(path, { Authorization: `Bearer ${client.token}` });
    if (status >= 400) throw new Error(JSON.stringify(body));
    return body as unknown;
  },
  lengthOf: objectsIn,
});

const reads: Read[] = [
  ...lists.map(overGraphql),
  { name: "totals of nested lists", send: (client) => client.graphql(totals), lengthOf: objectsIn },
  ...restLists.map(overRest),
  overRest(redirect),
];

/** Numbers from 1 on. */
const upTo = (count: number) => Array.from({ length: count }, (_, nr) => nr + 1);

const change = (verb: string) =>
  `mutation($input: ${verb[0]!.toUpperCase()}${verb.slice(1)}Input!) { ${verb}(input: $input) { __typename } }`;

/** Requests with input of a length; the work that is measured comes after the preparation. */
const inputs: Record<string, (w: World, length: number) => Promise<() => Promise<unknown>>> = {
  async "checks of permissions"(w, length) {
    const check = (resourceType: string, object: object, n: number) => ({
      key: `${resourceType} ${n}`,
      action: "read",
      object: { resourceType, ...object },
    });
    const checks = upTo(length).flatMap((n) => [
      check("group", { resourceId: recordId("group", n) }, n),
      check("organization", { resourceId: recordId("organization", n) }, n),
      check("workspace", { organizationId: recordId("organization", n), ownerId: recordId("user", n) }, n),
    ]);
    const query = "query($checks: [AuthCheckInput!]!) { authCheck(checks: $checks) { allowed } }";
    return () => w.as(w.owner).graphql(query, { checks });
  },
  async "secrets, apps, and scripts in the manifest of an agent"(w, length) {
    const owner = await w.user("ada");
    for (const n of upTo(length))
      await w.as(owner).post("/api/v2/users/me/secrets", { name: `s${n}`, env_name: `S${n}`, value: "x" });
    const { agents } = await start(w, owner, {
      apps: upTo(length).map((n) => ({ slug: `app-${n}` })),
      scripts: upTo(length).map((n) => ({ display_name: `Script ${n}`, script: "true" })),
    });
    const query = "{ agentManifest { env { name } secretEnv { name } apps { slug } scripts { id } } }";
    return () => new Client(w.url, agents[0]!.token!).graphql(query);
  },
  async "lines that an agent logs"(w, length) {
    const { agent } = await w.workspace(w.owner);
    const logs = upTo(length).map((n) => ({ createdAt: "2026-01-02T03:04:05Z", level: "INFO", output: `Line ${n}` }));
    return () => w.as(agent).graphql(change("appendAgentLogs"), { input: { logs } });
  },
  async "connections that an agent reports"(w, length) {
    const { agent } = await w.workspace(w.owner);
    const ids = upTo(length).map(() => newId());
    return () => reported(w, agent, ...ids.map((id) => connect(id)), ...ids.map((id) => disconnect(id)));
  },
  async "members that a group gets and loses"(w, length) {
    const users = upTo(length).map((n) => recordId("user", n));
    const { id } = await w.group(undefined, { organization: recordId("organization") });
    return async () => {
      for (const body of [{ add_users: users }, { remove_users: users }])
        expect(await w.as(w.owner).patch(`/api/v2/groups/${id}`, body)).to.include({ status: 200 });
    };
  },
  async "grants that a user revokes"(w, length) {
    for (const _ of upTo(length)) await insertGrant(w, w.owner.id, recordId("app"), {});
    return () => w.as(w.owner).delete(`/oauth2/tokens?client_id=${recordId("app")}`);
  },
  async "entries of an access list"(w, length) {
    return async () => {
      for (const role of ["use", null]) {
        const userPerms = upTo(length).map((n) => ({ id: recordId("user", n), role }));
        const groupPerms = upTo(length).map((n) => ({ id: recordId("group", n), role }));
        for (const [verb, place] of [
          ["updateTemplateAcl", { templateId: recordId("template", 2) }],
          ["updateWorkspaceAcl", { workspace: recordId("workspace", 2) }],
        ] as const)
          await w.as(w.owner).graphql(change(verb), { input: { ...place, userPerms, groupPerms } });
      }
    };
  },
  async "open streams whose keys are checked"(w, length) {
    const { database, log } = w.app.services;
    return async () => {
      const watches = new Watches((ids) => livingKeys(database.db, ids), log);
      const ended = Promise.withResolvers<void>();
      for (const n of upTo(100 * length)) watches.add(`api-key-${n}`, [], () => ended.resolve());
      watches.checkAll();
      await ended.promise;
      watches.close();
    };
  },
};

describe("requests take as many SQL statements", () => {
  const providers = upTo(many).map((n) => providerAt("http://127.0.0.1:9", { id: `provider-${n}`, validate_url: "" }));
  // Two connections, one for reads: so which reads come together does not depend on which statement ends first.
  const the = world({ ...externalAuth(...providers), STEWARD_DATABASE_POOL: "2" });
  /** The statements of each read, and the length of its lists: when they are short, and when they are long. */
  const found = new Map<Read, Array<{ statements: string[]; length: number }>>(reads.map((read) => [read, []]));

  /** Compares the statements for short lists with those for long ones. */
  const compare = (short: string[], long: string[]) =>
    expect(long, `\n${long.join("\n\n")}\n`).to.have.length(short.length);

  before(async () => {
    const w = the();
    for (const numbers of [upTo(few), upTo(many).slice(few)]) {
      for (const n of numbers) await addRecords(w, n);
      for (const [read, runs] of found) {
        const send = () => read.send(w.as(w.owner));
        // Once before, since servers remember some of what they read.
        const length = read.lengthOf(await send());
        runs.push({ length, statements: await statementsOf(send) });
      }
    }
  });

  it("while four of five lists are longer than before", () => {
    const longer = [...found.values()].filter(([short, long]) => short!.length > 0 && long!.length > short!.length);
    expect(longer.length / reads.length).to.be.above(0.8);
  });

  for (const read of reads)
    it(`for long lists as for short ones: ${read.name}`, () => {
      const [short, long] = found.get(read)!;
      compare(short!.statements, long!.statements);
    });

  for (const [name, prepare] of Object.entries(inputs))
    it(`for many as for few ${name}`, async () => {
      const statements: string[][] = [];
      for (const length of [few, few, many]) statements.push(await statementsOf(await prepare(the(), length)));
      compare(statements[1]!, statements[2]!);
    });

  it("for many as for few lines that a provisioner daemon logs", async () => {
    const w = the();
    const daemon = (await serve(w.app, { key: await newKey(w) })).work();
    await queueImport(w);
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    const { counts } = w.app.services.database;
    let sequence = 0;
    /** Of several reports of as many lines, counts the one that no background job ran beside. */
    const count = async (length: number) => {
      const sent: number[] = [];
      for (const _ of upTo(6)) {
        const line = {
          createdAt: "2026-01-02T03:04:05Z",
          level: "INFO",
          source: "PROVISIONER",
          stage: "",
          output: "Line",
        };
        const logs = upTo(length).map(() => ({ ...line, sequence: ++sequence }));
        const before = counts.executed;
        await daemon.call("updateProvisionerJob", job, { logs });
        sent.push(counts.executed - before);
      }
      return Math.min(...sent);
    };
    expect(await count(many)).to.equal(await count(few));
    daemon.close();
  });
});
