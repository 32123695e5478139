// Compiled queries return the same as the reference implementation of GraphQL.
// Looks inside: compares the two ways to execute an operation, which clients cannot choose.
import { expect } from "chai";
import { Kind, OperationTypeNode } from "graphql";
import { Context } from "../../src/domain/kernel/context.js";
import { prepare } from "../../src/graphql/engine/execute.js";
import type { Variables } from "../../src/graphql/engine/variables.js";
import { storedOperations, type StoredOperation } from "../../src/graphql/engine/stored-operations.js";
import { areas, getSchema } from "../support/catalog.js";
import { newId } from "../support/ids.js";
import { externalAuth, providerAt } from "../support/external-services.js";
import { connect, reported } from "../support/connections.js";
import { makeClient, makeCode, redeem, redirectUri } from "../support/oauth2.js";
import { start } from "../support/agents.js";
import { runJob } from "../support/background.js";
import { makeTemplate } from "../support/templates.js";
import { world } from "../support/world.js";

describe("compiled queries", () => {
  const w = world(externalAuth(providerAt("http://127.0.0.1:1")));
  const schema = getSchema();
  const queries = areas
    .flatMap(({ name, pages }) => [...storedOperations(schema, `${pages ? "pages" : "rest"}/${name}`).values()])
    .filter(({ kind }) => kind === OperationTypeNode.QUERY);

  let present: Variables;
  before(async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const { id, name } = await w().group(undefined, { members: [ada!, bob!] });
    await w().as(w().owner).put(`/api/v2/groups/${id}/ai/budget`, { spend_limit_micros: 5 });
    for (const title of ["one", "two"])
      await w().as(w().owner).post("/api/v2/notifications/custom", { content: { title } });
    await w().as(w().owner).post("/api/v2/users/me/secrets", { name: "one", value: "of the owner" });
    await reported(w(), (await w().workspace(ada!)).agent, connect(newId()));
    const client = await makeClient(w());
    const { code } = await makeCode(w(), client, ada!);
    const { body: tokens } = await redeem(w(), client, code);
    own.OAuth2Introspection = {
      input: { clientId: client.id, clientSecret: client.secret, token: tokens.access_token },
    };
    const registered = await w().nobody.post("/oauth2/register", { redirect_uris: [redirectUri] });
    own.GetClient = {
      client_id: registered.body.client_id,
      registration_access_token: registered.body.registration_access_token,
    };
    own.AuthorizationRequest = {
      input: { responseType: "code", clientId: client.id, redirectUri, state: "xyz" },
    };
    const workspace = await start(w(), w().owner, { name: "main", external: true });
    await w().app.services.database.pool.query(
      `insert into tasks (id, created_at, updated_at, owner_id, organization_id, name, initial_prompt, version_id, workspace_id)
       select $1, now(), now(), w.owner_id, w.organization_id, 'one', '', b.version_id, w.id
       from workspaces w join workspace_builds b on b.id = w.latest_build_id where w.id = $1`,
      [workspace.id],
    );
    own.ListTasks = { q: "owner:me" };
    // Notices about the accounts arrive now, and not between two runs of an operation.
    await runJob(w().app, "noticeJob");
    present = {
      name: "one",
      agent: "main",
      task: "one",
      workspace: workspace.id,
      app: client.id,
      externalauth: "lab",
      group: id,
      groupName: name,
      organization: "default",
      template: (await makeTemplate(w())).id,
      user: w().owner.username,
      workspaceproxy: "primary",
      has_member: bob!.id,
      read_status: "UNREAD",
      limit: 1,
      q: "ada",
      exclude_members: true,
      checks: [{ key: "one", action: "read", object: { resourceType: "group", anyOrg: true } }],
    };
  });

  const context = async () =>
    new Context(
      w().app.services,
      await w().app.services.credentials.authenticate(w().owner.token),
      { id: newId() },
      () => new AbortController(),
    );

  /** Variables of operations that need values of their own. */
  const own: Record<string, Variables> = { ListConnectionLogs: { q: "type:ssh" } };

  const pick = ({ definition, name }: StoredOperation, values: Variables, onlyRequired: boolean): Variables =>
    Object.fromEntries(
      (definition.variableDefinitions ?? [])
        .filter(({ type }) => !onlyRequired || type.kind === Kind.NON_NULL_TYPE)
        .map(({ variable }) => [variable.name.value, { ...values, ...own[name] }[variable.name.value]] as const)
        .filter(([, value]) => value !== undefined),
    );

  /** The primary is checked at the time of each request. */
  const withoutMoment = (key: string, value: unknown) => (key === "checkedAt" ? undefined : value);

  const plain = (result: unknown) =>
    JSON.parse(JSON.stringify(result, withoutMoment)) as {
      data: unknown;
      errors?: Array<{ message: string; path: unknown }>;
    };

  for (const operation of queries) {
    it(`${operation.name} returns the same from both executors`, async () => {
      const interpreted = prepare(schema, operation.document, operation.name);
      const ids = { group: newId(), organization: newId(), user: newId(), workspaceproxy: newId(), template: newId() };
      const absent = { ...present, ...ids, groupName: "absent" };
      for (const variables of [
        pick(operation, present, false),
        pick(operation, present, true),
        pick(operation, absent, true),
      ]) {
        const [fast, reference] = [
          plain(await operation.admit(await context()).run(variables)),
          plain(await interpreted.admit(await context()).run(variables)),
        ];
        expect(fast.data ?? null).to.deep.equal(reference.data ?? null);
        const faults = ({ errors = [] }: typeof fast) => errors.map(({ message, path }) => ({ message, path }));
        expect(faults(fast)).to.deep.equal(faults(reference));
      }
    });
  }

  it("return data, so that the comparison means something", async () => {
    for (const operation of queries) {
      const { data, errors } = await operation.admit(await context()).run(pick(operation, present, false));
      expect(errors, operation.name).to.equal(undefined);
      expect(Object.values(data!)[0], operation.name).to.not.equal(null);
    }
  });
});
