// Holds the OpenAPI description against the server: its examples, required fields, and limits, and real responses.
// Looks inside: examples of the description need their objects to have the ids in it.
import { expect } from "chai";
import { tomorrow } from "../../support/clock.js";
import { newId } from "../../support/ids.js";
import { contract, validationsOf } from "../../contract/contract.js";
import { examples } from "../../contract/examples.js";
import { scimExamples } from "../../contract/scim-examples.js";
import { externalAuth, providerAt } from "../../support/external-services.js";
import { edgesOf } from "../../support/limits.js";
import { Description, type Described, type Schema } from "../../support/openapi.js";
import { insert } from "../../support/stage.js";
import { hashSecret } from "../../support/token-rows.js";
import { bytes, makeApp, makeExample } from "../../support/oauth2.js";
import { AgentProgram } from "../../support/agent-api.js";
import { makeProxy } from "../../support/proxies.js";
import { TaskStage } from "../../support/tasks.js";
import { makeTemplate } from "../../support/templates.js";
import { type Answer, type World, world } from "../../support/world.js";

describe("the OpenAPI description tells the truth", () => {
  const w = world(externalAuth(providerAt("http://127.0.0.1:1")));
  let described: Description;
  let withBody: Described[];
  before(async () => {
    described = await Description.of(w());
    withBody = described.operations.filter(({ operation }) => operation.requestBody);
    expect(withBody.length).to.be.greaterThan(10);
    program = await AgentProgram.open();
    stage = await TaskStage.open(w(), program, { provisioner: "truth" }, "truth");
  });
  after(async () => {
    stage.close();
    await program.close();
  });

  /** The daemon that builds the workspaces of tasks, the program of all of them, and the task that operations name. */
  let stage: TaskStage;
  let program: AgentProgram;
  let task: { id: string; token: string } | undefined;

  /** Makes a task of the owner that is active. */
  async function makeTask(): Promise<{ id: string; token: string }> {
    const { task: made, token } = await stage.active(w().owner);
    return (task = { id: made.id as string, token });
  }

  async function makePausedTask(): Promise<void> {
    const { id } = await makeTask();
    await w().as(w().owner).post(`/api/v2/tasks/me/${id}/pause`);
    await stage.carryOut();
  }

  /** Values of path parameters that name real objects of the owner. */
  const real: Record<string, (w: World) => string | Promise<string>> = {
    externalauth: () => "lab",
    notification_template: () => "d4a6271c-cced-4ed0-84ad-afd02a9c7799",
    user: () => "me",
    organization: () => "default",
    group: async (the) => (await the.group()).id,
    template: async (the) => (await makeTemplate(the)).id,
    workspaceproxy: async (the) => (await makeProxy(the, `proxy-${newId().slice(-8)}`)).id,
    app: async (the) => (await makeApp(the)).id,
    task: async () => (task ?? (await makeTask())).id,
    name: async (the) => {
      const name = `secret-${newId().slice(-8)}`;
      await the.as(the.owner).post("/api/v2/users/me/secrets", { name, value: "hush" });
      return name;
    },
    id: async (the) => {
      await the.as(the.owner).post("/api/v2/notifications/custom", { content: { title: "Tea" } });
      return (await the.as(the.owner).get("/api/v2/notifications/inbox")).body.notifications[0].id;
    },
  };

  /** Sends a body to an operation, with path parameters that name real objects. */
  async function send({ method, path, operation }: Described, body: unknown, caller = w().owner): Promise<Answer> {
    if (path === "/oauth2/clients/{client_id}") return sendAsClient(method, body);
    if (path.startsWith("/scim/")) return sendAsProvider(method, path, body, caller);
    let target = path;
    for (const parameter of operation.parameters ?? [])
      if (parameter.in === "path")
        target = target.replace(`{${parameter.name}}`, encodeURIComponent(await real[parameter.name]!(w())));
    // Uploads have a format, the only required parameter of a query that comes with a body.
    if (path.endsWith("/log-snapshot")) target += "?format=agentapi";
    return w().as(caller).request(method, target, body);
  }

  /** The credential of an identity provider. */
  const provider = ({ token }: World["owner"]) => ({ Authorizaiton: token });

  /** Sends a request of an identity provider, about the user that it creates. */
  async function sendAsProvider(method: string, path: string, body: unknown, caller: World["owner"]) {
    const headers = provider(caller);
    const create = described.operations.find(({ name }) => name === "POST /scim/v2/Users")!;
    const made = await w().nobody.post("/scim/v2/Users", exampleOf(create), headers);
    return w().nobody.request(method, path.replace("{id}", made.body.id), body, headers);
  }

  /** Sends a request of a public OAuth2 client about itself. */
  async function sendAsClient(method: string, body: unknown): Promise<Answer> {
    const { nobody } = w();
    const metadata = { redirect_uris: ["https://watch.example.com/"], token_endpoint_auth_method: "none" };
    const { body: client } = await nobody.post("/oauth2/register", metadata);
    const headers = { Authorization: `Bearer ${client.registration_access_token}` };
    return nobody.request(method, `/oauth2/clients/${client.client_id}`, body, headers);
  }

  const exampleOf = ({ operation }: Described) => operation.requestBody!.content["application/json"].example!;

  /** Creates a user with the email and password of an example. */
  async function account(email: string, password: string) {
    const { createUser } = await w()
      .as(w().owner)
      .graphql(`mutation($input: CreateUserInput!) { createUser(input: $input) { user { id username } } }`, {
        input: { email, username: `user-${newId().slice(-8)}`, password, loginType: "PASSWORD" },
      });
    return createUser.user;
  }

  /** The state that the examples of some operations require, and the caller that sends them. */
  const oauth2 = (example: Record<string, string>) => makeExample(w(), example);

  const prerequisites: Record<string, (example: Record<string, string>) => Promise<World["owner"] | void>> = {
    CreateTask: async ({ template_version_id: id }) => {
      await w().app.services.database.pool.query(
        `insert into template_versions select (jsonb_populate_record(null::template_versions,
           to_jsonb(v) || jsonb_build_object('id', $1::uuid, 'name', 'example'))).* from template_versions v where v.id = $2`,
        [id, stage.versionId],
      );
    },
    UpdateTaskInput: makePausedTask,
    SendTaskInput: async () => void (await makeTask()),
    UploadTaskLogSnapshot: async () => ({ ...w().owner, token: (await makeTask()).token }),
    Login: async ({ email, password }) => void (await account(email!, password!)),
    ConvertLogin: async ({ password }) => {
      const user = await account("converted@example.com", password!);
      const token = await w().login("converted@example.com", password!);
      return { ...user, email: "converted@example.com", token };
    },
    IssueOAuth2Token: oauth2,
    RevokeOAuth2Token: oauth2,
    OAuth2Introspection: oauth2,
    StartOAuth2Device: oauth2,
    CompleteExternalAuthDevice: async ({ device_code: code }) => {
      await insert(w(), {
        external_auth_devices: [
          {
            id: w().owner.id,
            user_id: w().owner.id,
            provider_id: "lab",
            code_hash: bytes(hashSecret(code!)),
            key_id: "test",
            code_nonce: "\\x",
            code_ciphertext: "\\x",
            interval_seconds: 5,
            next_poll_at: "now",
            expires_at: tomorrow(),
            redeemed_at: "now",
          },
        ],
      });
    },
    ChangePasswordWithPasscode: async ({ email, one_time_passcode: code }) => {
      const { users } = await w()
        .as(w().owner)
        .graphql(`query($email: String) { users(filter: { search: $email }) { nodes { id } } }`, { email });
      const user_id = users.nodes[0]?.id;
      if (user_id === undefined) return;
      // One statement: the passcode of the request before it may be stored at any time, and is replaced.
      await w().app.services.database.pool.query(
        `insert into one_time_passcodes (user_id, code_hash, expires_at, requested_at)
         values ($1, $2, now() + interval '1 day', '{now}')
         on conflict (user_id) do update set (code_hash, expires_at, attempts, requested_at) =
           (excluded.code_hash, excluded.expires_at, 0, excluded.requested_at)`,
        [user_id, hashSecret(code!)],
      );
    },
  };

  it("has an accepted example of each body", async () => {
    for (const each of withBody) {
      const example = exampleOf(each);
      const accepts = described.validator(each.operation.requestBody!.content["application/json"].schema);
      expect(accepts(example), `${each.name}: ${JSON.stringify(accepts.errors)}`).to.equal(true);
      const caller =
        (await prerequisites[each.operation.operationId]?.(example as Record<string, string>)) ?? undefined;
      const { status, body } = await send(each, example, caller);
      expect(status, `${each.name}: ${JSON.stringify(body)}`).to.equal(contract.get(each.name)!.status);
      if (each.operation.operationId === "CreateTask") await stage.carryOut();
    }
  });

  it("states the values that clear a field, which the server accepts", async () => {
    const cleared: string[] = [];
    for (const each of withBody) {
      for (const [field, { anyOf = [] }] of Object.entries(described.bodyOf(each.operation)!.properties ?? {})) {
        for (const { type, const: text } of anyOf) {
          if (type !== "null" && text === undefined) continue;
          await send(each, exampleOf(each));
          expect(await send(each, { [field]: text ?? null }), each.name).to.include({ status: 200 });
          cleared.push(`${field} ${text ?? null}`);
        }
      }
    }
    expect(cleared).to.deep.equal(["method ", "method null"]);
  });

  it("requires the fields that the server requires", async () => {
    for (const each of withBody) {
      const { status, body } = await send(each, {});
      // Applications authenticate before anything else is checked.
      if (each.name === "POST /oauth2/introspect") {
        expect(status).to.equal(401);
        continue;
      }
      const missing =
        status === 400 ? validationsOf({ status, body, headers: new Headers() }).map(({ field }) => field) : [];
      const { required = [] } = described.bodyOf(each.operation)!;
      // Clients need redirect URIs for some grant types.
      const always = missing.filter((field) => field !== "redirect_uris");
      expect(always, each.name).to.have.members(required);
      if (required.length > 0) expect(status, each.name).to.equal(400);
    }
  });

  it("requires the query parameters that the server requires", async () => {
    const withQuery = described.operations.filter(({ method, operation }) => method === "GET" && operation.parameters);
    for (const each of withQuery) {
      const required = each.operation.parameters!.filter(({ in: place, required: is }) => place === "query" && is);
      if (required.length === 0) continue;
      const { status, body } = await send(each, undefined);
      expect(status, each.name).to.equal(400);
      // The OAuth2 protocol reports one fault.
      if (each.path.startsWith("/oauth2/")) {
        expect(required.map(({ name }) => name)).to.include(/\w+(?=:? is required)/i.exec(body.error_description)?.[0]);
        continue;
      }
      const fields = (body.validations as Array<{ field: string }>).map(({ field }) => field);
      expect(fields, each.name).to.have.members(required.map(({ name }) => name));
    }
  });

  /** Limits whose faults have error codes of the protocol instead of a field. */
  const ofProtocol = /^POST \/oauth2\/(tokens (grant_type|code_verifier|resource)|device_authorization resource)/;

  /** A service banner beside a list of banners is returned, but nothing else is made of it. */
  const ofUnused = /service_banner\.background_color .*announcement_banners/;

  /** Values of which the server takes only those of a form that descriptions cannot state, all with one fault. */
  const ofOneFault =
    /^POST \/api\/v2\/licenses license|^PUT \/oauth2\/clients\/\{client_id\} client_secret|^PUT \/api\/v2\/appearance logo_url/;

  const excerpt = (value: unknown) => JSON.stringify(value).slice(0, 100);

  /** The details of the faults that a response reports for a field and what is in it. */
  function detailsOf(answer: Answer, field: string): string[] {
    if (answer.status !== 400 || (answer.body.error && !/: /.test(answer.body.error_description as string))) return [];
    // Some faults of entries are those of their list.
    return validationsOf(answer)
      .filter((fault) => `${fault.field}[0]` === field || /^($|[.[])/.test(fault.field.replace(field, "")))
      .map(({ detail }) => detail);
  }

  it("states limits of bodies that the server enforces: it takes values at a limit, and none one beyond it", async () => {
    const counts: Record<string, number> = {};
    const wrong: string[] = [];
    for (const each of withBody) {
      const schema = described.bodyOf(each.operation)!;
      const example = exampleOf(each);
      const required = Object.fromEntries(Object.entries(example).filter(([name]) => schema.required?.includes(name)));
      // A limit holds also beside other fields, one of which may take the place of the field.
      const bodies = Object.keys(required).length < Object.keys(example).length ? [required, example] : [required];
      for (const base of bodies)
        for (const { field, keyword, at, beyond, bodyWith } of edgesOf(described.resolved, schema, base, example)) {
          const what = `${each.name} ${field} ${keyword} beside ${Object.keys(base).join()}`;
          if (at === undefined || beyond === undefined) {
            wrong.push(`${what}: no value`);
            continue;
          }
          if (ofUnused.test(what)) continue;
          counts[keyword] = (counts[keyword] ?? 0) + 1;
          const refused = await send(each, bodyWith(beyond));
          const taken = await send(each, bodyWith(at));
          if (ofProtocol.test(what)) {
            if (refused.status !== 400 && refused.status !== 401) wrong.push(`${what}: ${refused.status}`);
            continue;
          }
          const faults = detailsOf(refused, field);
          const left = ofOneFault.test(what) ? [] : detailsOf(taken, field);
          if (refused.status !== 400 || faults.every((detail) => left.includes(detail)) || taken.status >= 429)
            wrong.push(
              `${what}: ${refused.status} ${excerpt(faults)} for ${excerpt(beyond)}; ${taken.status} ${excerpt(left)} for ${excerpt(at)}`,
            );
        }
    }
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
    expect(counts.maxLength).to.be.greaterThan(150);
    expect(counts).to.include.keys("minLength", "pattern", "minimum", "maximum", "maxItems", "maxProperties");
  });

  /** Values of the schema of a parameter that are just beyond its limits. */
  const beyond = ({ maxLength, minimum, maximum }: Schema): unknown[] => [
    ...(maxLength === undefined ? [] : ["a".repeat(maxLength + 1)]),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
  ];

  it("states limits of query parameters that the server enforces", async () => {
    const { id: template } = await makeTemplate(w());
    for (const { path, name, operation } of described.operations) {
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in !== "query" || operation.operationId === "WatchInbox") continue;
        for (const value of beyond(parameter.schema)) {
          const query = new URLSearchParams({ limit: "1", [parameter.name]: String(value) });
          const group = path.includes("{group") ? await w().group() : undefined;
          const target = path
            .replace("{organization}", "default")
            .replace("{template}", template)
            .replace(/\{group\w*\}/, group?.name ?? "");
          const headers = path.startsWith("/scim/") ? provider(w().owner) : {};
          const { status, body } = await w().as(w().owner).get(`${target}?${query.toString()}`, headers);
          expect(status, `${name} ${parameter.name}`).to.equal(400);
          // The protocols name no fields of queries.
          if (/^\/(oauth2|scim)\//.test(path)) continue;
          expect(body.validations[0].field, name).to.equal(parameter.name);
        }
      }
    }
  });

  it("describes every field and status of the responses", async () => {
    for (const { name, operation } of described.operations) {
      const { status, headers, body } = await (examples[name] ?? scimExamples[name]!)(w());
      const response = operation.responses[status];
      expect(response, `${name} ${status}`).to.be.an("object");
      if (!response?.content) continue;
      const type = headers.get("content-type")!.split(";")[0]!;
      const accepts = described.validator(response.content[type]!.schema);
      expect(accepts(body), `${name}: ${JSON.stringify([accepts.errors, body])}`).to.equal(true);
    }
  });

  it("describes failures", async () => {
    for (const { name, method, path, operation } of described.operations) {
      const { status, body } = await w().nobody.request(method, path.replace(/\{\w+\}/g, newId()));
      expect(operation.responses, name).to.include.keys(String(status));
      if (status < 400) continue;
      const isFailure = described.validator(described.failureOf(operation, status));
      expect(isFailure(body), `${name}: ${JSON.stringify(isFailure.errors)}`).to.equal(true);
    }
  });
});
