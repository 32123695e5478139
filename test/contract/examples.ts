// One successful call of every row, with a check of its side effects.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { ownerPassword, startServer } from "../support/app.js";
import { start } from "../support/agents.js";
import { externalAuth, ExternalService, link } from "../support/external-services.js";
import { connect, disconnect, logPath, reported, visit } from "../support/connections.js";
import { madeUp } from "../support/licensing.js";
import {
  appsPath,
  authorizePath,
  credentials,
  grantWithTokens,
  makeApp,
  makeClient,
  makeCode,
  oauthApp,
  redeem,
  refresh,
  sendForm,
} from "../support/oauth2.js";
import { carryOut, newKey, queueImports, serve } from "../support/provisioners.js";
import { makeProxy, proxiesPath } from "../support/proxies.js";
import { echo, makeTemplate } from "../support/templates.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, type World } from "../support/world.js";
import { taskExamples } from "./task-examples.js";

type Example = (w: World) => Promise<Answer>;

const groups = "/api/v2/groups";
const inbox = "/api/v2/notifications/inbox";
const provisionerKeys = "/api/v2/organizations/default/provisionerkeys";
const owner = (w: World) => w.as(w.owner);

const passcodesOf = async (w: World, { id }: { id: string }) =>
  (await w.app.services.database.pool.query("select from one_time_passcodes where user_id = $1", [id])).rows;

async function groupWithMember(w: World) {
  const ada = await w.user("ada");
  return { ada, group: await w.group(undefined, { members: [ada] }) };
}

async function groupWithBudget(w: World) {
  const group = await w.group();
  const path = `${groups}/${group.id}/ai/budget`;
  expect(await owner(w).put(path, { spend_limit_micros: 5_000_000 })).to.include({ status: 200 });
  return { group, path };
}

async function notified(w: World) {
  const ada = w.as(await w.user("ada"));
  expect(await ada.post("/api/v2/notifications/custom", { content: { title: "Tea", message: "is ready" } })).to.include(
    {
      status: 204,
    },
  );
  const list = await ada.get(inbox);
  return { ada, list, id: list.body.notifications[0].id as string };
}

/** Reads the first line of a stream as the body of the response. */
async function firstLine(url: string, token: string, cause: () => Promise<unknown>): Promise<Answer> {
  const ending = new AbortController();
  const response = await fetch(url, { headers: { "Service-Session-Token": token }, signal: ending.signal });
  await cause();
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.trim().includes("\n") || /\}\s*$/.test(text)) break;
  }
  ending.abort();
  return { status: response.status, headers: response.headers, body: JSON.parse(text.trim().split("\n")[0]!) };
}

/** A client that registered itself, and the headers that manage it. */
async function withClient(w: World) {
  const metadata = { client_name: "Night Watch", redirect_uris: ["https://watch.example.com/"], contacts: ["ada"] };
  const made = await w.nobody.post("/oauth2/register", { ...metadata, jwks: { keys: [] } });
  const headers = { Authorization: `Bearer ${made.body.registration_access_token}` };
  return { made, metadata, headers, path: `/oauth2/clients/${made.body.client_id}` };
}

/** A user with a secret, and the path of the secret. */
async function withSecret(w: World) {
  const person = await w.user("ada");
  const ada = w.as(person);
  const secret = { name: "key", description: "To the lab", env_name: "LAB_KEY", file_path: "~/.lab/key" };
  const made = await ada.post(`/api/v2/users/${person.username}/secrets`, { ...secret, value: "hush" });
  return { ada, secret, made, path: `/api/v2/users/${person.id}/secrets/key` };
}

/** An unsigned license, inserted directly into the table. */
async function withLicense(w: World) {
  const claims = { jti: newId(), account_id: "acme" };
  const answer = await owner(w).post("/api/v2/licenses", { license: madeUp(claims) });
  return { claims, answer, id: answer.body.id as number };
}

let proxies = 0;

/** A workspace proxy, and its path. */
async function withProxy(w: World) {
  const proxy = await makeProxy(w, `proxy-${++proxies}`);
  return { proxy, path: `${proxiesPath}/${proxy.id}` };
}

const external = "/api/v2/external-auth";

/** Runs `work` as a user with an account at a provider, on a replica that has the provider. */
async function withExternalAccount(
  w: World,
  work: (ada: Client, lab: ExternalService) => Promise<Answer>,
): Promise<Answer> {
  const lab = await ExternalService.open();
  const installable = { app_installations_url: `${lab.url}/installations` };
  const replica = await startServer(w.database.url, externalAuth(lab.provider(installable)));
  try {
    const ada = new Client(replica.url, (await w.user("ada")).token);
    await link(ada);
    return await work(ada, lab);
  } finally {
    await replica.close();
    await lab.close();
  }
}

export const examples: Record<string, Example> = {
  ...taskExamples,

  "GET /api/v2/external-auth": (w) =>
    withExternalAccount(w, async (ada) => {
      const answer = await ada.get(external);
      expect(answer.body).to.include({ authenticated: true, provider_id: "lab" });
      return answer;
    }),

  "GET /api/v2/external-auth/{externalauth}": (w) =>
    withExternalAccount(w, async (ada, lab) => {
      const installation = { id: 3, account: lab.account, html_url: "https://git.example.com/3" };
      lab.handlers["/installations"] = () => ({ body: { installations: [installation] } });
      const answer = await ada.get(`${external}/lab`);
      expect(answer.body.installations[0]).to.include({ id: 3, configure_url: installation.html_url });
      return answer;
    }),

  "DELETE /api/v2/external-auth/{externalauth}": (w) =>
    withExternalAccount(w, async (ada) => {
      const answer = await ada.delete(`${external}/lab`);
      expect((await ada.get(external)).body.links).to.deep.equal([]);
      return answer;
    }),

  "GET /api/v2/external-auth/{externalauth}/device": (w) =>
    withExternalAccount(w, (ada) => ada.get(`${external}/lab/device`)),

  "POST /api/v2/external-auth/{externalauth}/device": (w) =>
    withExternalAccount(w, async (ada, lab) => {
      lab.isApproved = true;
      const { device_code } = (await ada.get(`${external}/lab/device`)).body;
      return ada.post(`${external}/lab/device`, { device_code });
    }),

  "GET /api/v2/auth/scopes": async (w) => {
    const answer = await w.nobody.get("/api/v2/auth/scopes");
    expect(answer.body.external).to.include.members(["all", "application_connect", "group:*", "group:read"]);
    return answer;
  },

  "POST /api/v2/authcheck": async (w) => {
    const object = { resource_type: "group", organization_id: "default" };
    const checks = { mayMake: { action: "create", object }, mayFly: { action: "fly", object } };
    const answer = await owner(w).post("/api/v2/authcheck", { checks });
    expect(answer.body).to.deep.equal({ mayMake: true, mayFly: false });
    return answer;
  },

  "POST /api/v2/users/login": async (w) => {
    const answer = await w.nobody.post("/api/v2/users/login", { email: w.owner.email, password: ownerPassword });
    expect(await w.as({ token: answer.body.session_token }).get(groups)).to.include({ status: 200 });
    expect(answer.headers.get("set-cookie")).to.equal(null);
    return answer;
  },

  "GET /api/v2/users/{user}/secrets": async (w) => {
    const { ada, made } = await withSecret(w);
    const answer = await ada.get("/api/v2/users/me/secrets");
    expect(answer.body).to.deep.equal([made.body]);
    return answer;
  },

  "POST /api/v2/users/{user}/secrets": async (w) => {
    const { ada, secret, made, path } = await withSecret(w);
    expect(made.body).to.include(secret);
    expect((await ada.get(path)).body).to.deep.equal(made.body);
    return made;
  },

  "GET /api/v2/users/{user}/secrets/{name}": async (w) => {
    const { ada, secret, path } = await withSecret(w);
    const answer = await ada.get(path);
    expect(answer.body).to.include(secret);
    return answer;
  },

  "PATCH /api/v2/users/{user}/secrets/{name}": async (w) => {
    const { ada, secret, path } = await withSecret(w);
    const change = { description: "", env_name: "LAB", file_path: "/lab/key", value: "hush-2" };
    const answer = await ada.patch(path, change);
    const { value: _, ...shown } = change;
    expect(answer.body).to.include({ name: secret.name, ...shown });
    expect((await ada.get(path)).body).to.deep.equal(answer.body);
    return answer;
  },

  "DELETE /api/v2/users/{user}/secrets/{name}": async (w) => {
    const { ada, path } = await withSecret(w);
    const answer = await ada.delete(path);
    expect(await ada.get(path)).to.include({ status: 404 });
    return answer;
  },

  "POST /api/v2/users/otp/request": async (w) => {
    const ada = await w.user("ada");
    const answer = await w.nobody.post("/api/v2/users/otp/request", { email: ada.email });
    await eventually(async () => (await passcodesOf(w, ada)).length === 1, "the passcode is created");
    return answer;
  },

  "POST /api/v2/users/otp/change-password": async (w) => {
    const ada = await w.user("ada");
    await w.app.services.database.pool.query(
      `insert into one_time_passcodes (user_id, code_hash, expires_at, requested_at)
       values ($1, sha256('2345678923'), now() + interval '1 minute', '{now}')`,
      [ada.id],
    );
    const password = "plum-Harbor-kite-77";
    const change = { email: ada.email, one_time_passcode: "2345678923", password };
    const answer = await w.nobody.post("/api/v2/users/otp/change-password", change);
    await w.login(ada.email, password);
    return answer;
  },

  "POST /api/v2/users/validate-password": async (w) => {
    const answer = await owner(w).post("/api/v2/users/validate-password", { password: "password" });
    expect(answer.body).to.include({ valid: false });
    return answer;
  },

  "POST /api/v2/users/{user}/convert-login": async (w) => {
    const change = { to_type: "github", password: ownerPassword };
    const answer = await owner(w).post(`/api/v2/users/${w.owner.username}/convert-login`, change);
    expect(answer.body).to.include({ user_id: w.owner.id, to_type: "github" });
    expect(answer.body.state_string).to.match(/^[0-9A-Za-z]{32}$/);
    return answer;
  },

  "GET /api/v2/entitlements": async (w) => {
    const answer = await owner(w).get("/api/v2/entitlements");
    expect(answer.body).to.include({ has_license: false });
    expect(answer.body.features.scim).to.deep.equal({ enabled: true, entitlement: "entitled" });
    return answer;
  },

  "GET /api/v2/organizations/{organization}/provisionerkeys": async (w) => {
    await newKey(w, { region: "eu" });
    const answer = await owner(w).get(provisionerKeys);
    expect(answer.body.at(-1)).to.deep.include({ organization: w.defaultOrganization, tags: { region: "eu" } });
    return answer;
  },

  "POST /api/v2/organizations/{organization}/provisionerkeys": async (w) => {
    const answer = await owner(w).post(provisionerKeys);
    expect(answer.body.key).to.match(/^stwk_[0-9A-Za-z]{43}$/);
    return answer;
  },

  "GET /api/v2/organizations/{organization}/provisionerkeys/daemons": async (w) => {
    const daemon = (await serve(w.app, { key: await newKey(w) })).work(2);
    await queueImports(w, 2);
    await carryOut(daemon, await daemon.job());
    await daemon.call("acceptProvisionerJob", await daemon.job(1));
    const answer = await owner(w).get(`${provisionerKeys}/daemons`);
    const all = answer.body.flatMap(({ daemons }: { daemons: Array<{ status: string }> }) => daemons);
    const busy = all.find(({ status }: { status: string }) => status === "busy");
    expect(busy).to.deep.include({ status: "busy", provisioners: ["echo"] });
    expect(busy.current_job.status).to.equal("running");
    expect(busy.previous_job.status).to.equal("succeeded");
    daemon.close();
    return answer;
  },

  "DELETE /api/v2/organizations/{organization}/provisionerkeys/{provisionerkey}": async (w) => {
    await owner(w).post(provisionerKeys, { name: "gone" });
    const answer = await owner(w).delete(`${provisionerKeys}/GONE`);
    expect((await owner(w).delete(`${provisionerKeys}/gone`)).status).to.equal(404);
    return answer;
  },

  "GET /api/v2/licenses": async (w) => {
    const { id, claims } = await withLicense(w);
    const answer = await owner(w).get("/api/v2/licenses");
    expect(answer.body.find((each: { id: number }) => each.id === id)).to.deep.include({ claims });
    return answer;
  },

  "POST /api/v2/licenses": async (w) => {
    const { claims, answer } = await withLicense(w);
    expect(answer.body).to.deep.include({ claims, uuid: claims.jti });
    return answer;
  },

  "POST /api/v2/licenses/refresh-entitlements": async (w) => {
    const answer = await owner(w).post("/api/v2/licenses/refresh-entitlements");
    expect(answer.body).to.deep.equal({ message: "Entitlements updated." });
    return answer;
  },

  "DELETE /api/v2/licenses/{id}": async (w) => {
    const { id } = await withLicense(w);
    const answer = await owner(w).delete(`/api/v2/licenses/${id}`);
    const left = (await owner(w).get("/api/v2/licenses")).body;
    expect(left.map((each: { id: number }) => each.id)).to.not.include(id);
    return answer;
  },

  "GET /api/v2/appearance": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/appearance");
    expect(answer.body).to.include({ docs_url: "" });
    expect(answer.body.support_links).to.deep.equal([]);
    return answer;
  },

  "PUT /api/v2/appearance": async (w) => {
    const banner = { enabled: true, message: "Maintenance on *Monday*", background_color: "#ff0000" };
    const answer = await owner(w).put("/api/v2/appearance", {
      announcement_banners: [banner],
      application_name: "Forge",
      logo_url: "/forge.png",
    });
    expect(answer.body.service_banner).to.deep.equal(banner);
    expect((await owner(w).get("/api/v2/appearance")).body).to.deep.include(answer.body);
    return answer;
  },

  "GET /api/v2/audit/stream": async (w) => {
    const answer = await firstLine(`${w.url}/api/v2/audit/stream?resource_type=group`, w.owner.token, () => w.group());
    expect(answer.body.event).to.include({ action: "create", resource_type: "group" });
    return answer;
  },

  "GET /api/v2/connectionlog": async (w) => {
    const workspace = await w.workspace(await w.user("ada"));
    const { proxy } = await withProxy(w);
    const session = newId();
    const userId = w.owner.id;
    const ended = disconnect(session, { exitCode: 0, disconnectReason: "exited", ip: "192.0.2.1" });
    await reported(w, workspace.agent, connect(session), ended);
    await reported(w, proxy, visit(workspace.id, { userId, statusCode: 200, userAgent: "curl" }));
    const answer = await owner(w).get(`${logPath}?limit=10&q=workspace_id:${workspace.id}`);
    expect(answer.body).to.include({ count: 2, count_cap: 2000 });
    expect(answer.body.connection_logs.map(({ type }: { type: string }) => type)).to.deep.equal([
      "workspace_app",
      "ssh",
    ]);
    return answer;
  },

  "GET /api/v2/workspaces/{workspace}/external-agent/{agent}/credentials": async (w) => {
    const ada = await w.user("ada");
    const { id } = await start(w, ada, { name: "main", external: true });
    const answer = await w.as(ada).get(`/api/v2/workspaces/${id}/external-agent/main/credentials`);
    const agent = new Client(w.url, answer.body.agent_token);
    expect((await agent.graphql("{ agentManifest { workspaceId } }")).agentManifest.workspaceId).to.equal(id);
    return answer;
  },

  "GET /api/v2/prebuilds/settings": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/prebuilds/settings");
    expect(answer.body.reconciliation_paused).to.be.a("boolean");
    return answer;
  },

  "PUT /api/v2/prebuilds/settings": async (w) => {
    const path = "/api/v2/prebuilds/settings";
    const { reconciliation_paused: now } = (await owner(w).get(path)).body;
    const answer = await owner(w).put(path, { reconciliation_paused: !now });
    expect((await owner(w).get(path)).body).to.deep.equal({ reconciliation_paused: !now });
    expect(await owner(w).put(path, { reconciliation_paused: !now })).to.include({ status: 304, body: "" });
    return answer;
  },

  "PATCH /api/v2/templates/{template}/acl": async (w) => {
    const ada = await w.user("ada");
    const template = await makeTemplate(w, { everyoneCanUse: false });
    const path = `/api/v2/templates/${template.id}/acl`;
    const answer = await owner(w).patch(path, { user_perms: { [ada.id]: "use" } });
    expect((await owner(w).get(path)).body.users[0]).to.include({ id: ada.id, role: "use" });
    return answer;
  },

  "GET /api/v2/templates/{template}/acl": async (w) => {
    const ada = await w.user("ada");
    const template = await makeTemplate(w);
    const path = `/api/v2/templates/${template.id}/acl`;
    expect(await owner(w).patch(path, { user_perms: { [ada.id]: "admin" } })).to.include({ status: 200 });
    const answer = await owner(w).get(path);
    expect(answer.body.users[0]).to.include({ id: ada.id, role: "admin" });
    expect(answer.body.group[0]).to.include({ id: w.defaultOrganization, role: "use" });
    return answer;
  },

  "GET /api/v2/templates/{template}/acl/available": async (w) => {
    const ada = await w.user("ada");
    const template = await makeTemplate(w);
    const answer = await owner(w).get(`/api/v2/templates/${template.id}/acl/available?q=${ada.username}`);
    expect(answer.body).to.have.length(1);
    expect(answer.body[0].users[0]).to.include({ id: ada.id });
    return answer;
  },

  "POST /api/v2/templates/{template}/prebuilds/invalidate": async (w) => {
    const template = await makeTemplate(w, { document: { ...echo, presets: [{ name: "small" }] } });
    const answer = await owner(w).post(`/api/v2/templates/${template.id}/prebuilds/invalidate`);
    expect(answer.body.invalidated).to.deep.equal([
      { preset_name: "small", template_name: template.name, template_version_name: "v1" },
    ]);
    return answer;
  },

  "GET /api/v2/groups": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const answer = await owner(w).get(`${groups}?has_member=${ada.username}&organization=default`);
    expect(answer.body.map(({ id }: { id: string }) => id)).to.have.members([w.defaultOrganization, group.id]);
    return answer;
  },

  "GET /api/v2/groups/{group}": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const answer = await owner(w).get(`${groups}/${group.id}`);
    expect(answer.body).to.include({ id: group.id, name: group.name, total_member_count: 1, source: "user" });
    expect(answer.body.members[0]).to.include({ id: ada.id, username: ada.username, email: ada.email });
    return answer;
  },

  "PATCH /api/v2/groups/{group}": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const name = `${group.name}-2`;
    const change = {
      name,
      display_name: "Ops",
      avatar_url: "/icon.png",
      quota_allowance: 7,
      add_users: [w.owner.id],
      remove_users: [ada.id],
    };
    const answer = await owner(w).patch(`${groups}/${group.id}`, change);
    expect(answer.body).to.include({ name, display_name: "Ops", avatar_url: "/icon.png", quota_allowance: 7 });
    expect(answer.body.members.map(({ id }: { id: string }) => id)).to.deep.equal([w.owner.id]);
    expect((await owner(w).get(`${groups}/${group.id}`)).body).to.deep.equal(answer.body);
    return answer;
  },

  "DELETE /api/v2/groups/{group}": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const answer = await owner(w).delete(`${groups}/${group.id}`);
    expect(answer.body).to.include({ id: group.id, total_member_count: 1 });
    expect(answer.body.members[0]).to.include({ id: ada.id });
    expect(await owner(w).get(`${groups}/${group.id}`)).to.include({ status: 404 });
    return answer;
  },

  "GET /api/v2/groups/{group}/members": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const answer = await owner(w).get(`${groups}/${group.id}/members?limit=10&q=${ada.username}`);
    expect(answer.body).to.have.property("count", 1);
    expect(answer.body.users[0]).to.include({ id: ada.id });
    return answer;
  },

  "GET /api/v2/groups/{group}/ai/budget": async (w) => {
    const { group, path } = await groupWithBudget(w);
    const answer = await owner(w).get(path);
    expect(answer.body).to.include({ group_id: group.id, spend_limit_micros: 5_000_000 });
    return answer;
  },

  "PUT /api/v2/groups/{group}/ai/budget": async (w) => {
    const { path } = await groupWithBudget(w);
    const answer = await owner(w).put(path, { spend_limit_micros: 9_007_199_254_740_991 });
    expect(answer.body).to.include({ spend_limit_micros: 9_007_199_254_740_991 });
    expect((await owner(w).get(path)).body).to.deep.equal(answer.body);
    return answer;
  },

  "DELETE /api/v2/groups/{group}/ai/budget": async (w) => {
    const { path } = await groupWithBudget(w);
    const answer = await owner(w).delete(path);
    expect(await owner(w).get(path)).to.include({ status: 404 });
    return answer;
  },

  "GET /api/v2/organizations/{organization}/groups": async (w) => {
    const group = await w.group();
    const answer = await owner(w).get(`/api/v2/organizations/${w.defaultOrganization}/groups`);
    const names = answer.body.map(({ name }: { name: string }) => name);
    expect(names).to.include.members(["Everyone", group.name]);
    return answer;
  },

  "POST /api/v2/organizations/{organization}/groups": async (w) => {
    const { name } = await w.group();
    const group = {
      name: `${name}-new`,
      display_name: "New",
      avatar_url: "https://example.com/a.png",
      quota_allowance: 3,
    };
    const answer = await owner(w).post("/api/v2/organizations/default/groups", group);
    expect(answer.body).to.include({ ...group, total_member_count: 0, organization_id: w.defaultOrganization });
    expect(answer.body.members).to.deep.equal([]);
    expect((await owner(w).get(`${groups}/${answer.body.id}`)).body).to.deep.equal(answer.body);
    return answer;
  },

  "GET /api/v2/organizations/{organization}/groups/{groupName}": async (w) => {
    const group = await w.group();
    const answer = await owner(w).get(`/api/v2/organizations/default/groups/${group.name}`);
    expect(answer.body).to.include({ id: group.id });
    return answer;
  },

  "GET /api/v2/organizations/{organization}/groups/{groupName}/members": async (w) => {
    const { ada, group } = await groupWithMember(w);
    const answer = await owner(w).get(`/api/v2/organizations/default/groups/${group.name}/members`);
    expect(answer.body.users.map(({ id }: { id: string }) => id)).to.deep.equal([ada.id]);
    return answer;
  },

  "GET /api/v2/organizations/{organization}/members/{user}/workspace-quota": async (w) => {
    const { ada, group } = await groupWithMember(w);
    await owner(w).patch(`${groups}/${group.id}`, { quota_allowance: 12 });
    const answer = await owner(w).get(`/api/v2/organizations/default/members/${ada.username}/workspace-quota`);
    expect(answer.body).to.deep.equal({ budget: 12, credits_consumed: 0 });
    return answer;
  },

  "GET /api/v2/workspace-quota/{user}": async (w) => {
    const ada = await w.user("ada");
    const answer = await w.as(ada).get("/api/v2/workspace-quota/me");
    expect(answer.headers.get("deprecation")).to.equal("true");
    const [, successor] = /^<(\/[^>]+)>; rel="successor-version"$/.exec(answer.headers.get("link") ?? "") ?? [];
    expect((await w.as(ada).get(successor!)).body).to.deep.equal(answer.body);
    return answer;
  },

  "POST /api/v2/notifications/custom": async (w) => {
    const ada = w.as(await w.user("ada"));
    const answer = await ada.post("/api/v2/notifications/custom", { content: { title: "Tea", message: "is ready" } });
    expect((await ada.get(inbox)).body.notifications[0]).to.include({ title: "Tea", content: "is ready" });
    return answer;
  },

  "GET /api/v2/notifications/inbox": async (w) => {
    const { ada, list } = await notified(w);
    expect(list.body).to.include({ unread_count: 1 });
    expect((await ada.get(`${inbox}?read_status=read`)).body.notifications).to.deep.equal([]);
    return list;
  },

  "PUT /api/v2/notifications/inbox/mark-all-as-read": async (w) => {
    const { ada } = await notified(w);
    const answer = await ada.put(`${inbox}/mark-all-as-read`);
    expect((await ada.get(inbox)).body).to.include({ unread_count: 0 });
    return answer;
  },

  "PUT /api/v2/notifications/inbox/{id}/read-status": async (w) => {
    const { ada, id } = await notified(w);
    const answer = await ada.put(`${inbox}/${id}/read-status`, { is_read: true });
    expect(answer.body).to.include({ unread_count: 0 });
    expect((await ada.get(inbox)).body.notifications[0]).to.deep.equal(answer.body.notification);
    expect(answer.body.notification.read_at).to.match(/^\d{4}-\d\d-\d\dT/);
    return answer;
  },

  "GET /api/v2/notifications/inbox/watch": async (w) => {
    const ada = await w.user("ada");
    const answer = await firstLine(`${w.url}${inbox}/watch`, ada.token, () =>
      w.as(ada).post("/api/v2/notifications/custom", { content: { title: "Tea", message: "is ready" } }),
    );
    expect(answer.body).to.include({ unread_count: 1 });
    expect(answer.body.notification).to.include({ title: "Tea", content: "is ready" });
    return answer;
  },

  "GET /api/v2/notifications/dispatch-methods": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/notifications/dispatch-methods");
    expect(answer.body).to.deep.equal([{ available: ["smtp", "webhook"], default: "smtp" }]);
    return answer;
  },

  "GET /api/v2/notifications/settings": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/notifications/settings");
    expect(answer.body.notifier_paused).to.be.a("boolean");
    return answer;
  },

  "PUT /api/v2/notifications/settings": async (w) => {
    const path = "/api/v2/notifications/settings";
    const { notifier_paused: now } = (await owner(w).get(path)).body;
    const answer = await owner(w).put(path, { notifier_paused: !now });
    expect((await owner(w).get(path)).body).to.deep.equal({ notifier_paused: !now });
    expect(await owner(w).put(path, { notifier_paused: !now })).to.include({ status: 304, body: "" });
    return answer;
  },

  "GET /api/v2/notifications/templates/system": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/notifications/templates/system");
    const names = answer.body.map(({ name }: { name: string }) => name);
    expect(names).to.deep.equal(names.toSorted()).and.include("Task Idle");
    expect(answer.body.find(({ name }: { name: string }) => name === "Task Idle")).to.include({
      enabled_by_default: false,
      group: "Task Events",
      kind: "system",
    });
    return answer;
  },

  "GET /api/v2/notifications/templates/custom": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/notifications/templates/custom");
    expect(answer.body).to.have.length(1);
    expect(answer.body[0]).to.include({ name: "Custom Notification", kind: "custom", method: "", actions: "[]" });
    return answer;
  },

  "PUT /api/v2/notifications/templates/{notification_template}/method": async (w) => {
    const template = "843ee9c3-a8fb-4846-afa9-977bec578649";
    const path = `/api/v2/notifications/templates/${template}/method`;
    const answer = await owner(w).put(path, { method: "webhook" });
    const { body } = await owner(w).get("/api/v2/notifications/templates/system");
    expect(body.find(({ id }: { id: string }) => id === template).method).to.equal("webhook");
    expect(await owner(w).put(path, { method: "webhook" })).to.include({ status: 304, body: "" });
    await owner(w).put(path, { method: "" });
    return answer;
  },

  "POST /api/v2/notifications/test": async (w) => {
    const answer = await owner(w).post("/api/v2/notifications/test");
    // Notices of accounts that other examples made may arrive after it.
    const { notifications } = (await owner(w).get(inbox)).body as { notifications: Array<{ title: string }> };
    expect(notifications.map(({ title }) => title)).to.include("Test notification");
    return answer;
  },

  "GET /api/v2/users/{user}/notifications/preferences": async (w) => {
    const ada = await w.user("ada");
    await w.as(ada).put("/api/v2/users/me/notifications/preferences", {
      template_disabled_map: { "d4a6271c-cced-4ed0-84ad-afd02a9c7799": false },
    });
    const answer = await owner(w).get(`/api/v2/users/${ada.username}/notifications/preferences`);
    expect(answer.body).to.have.length(1);
    return answer;
  },

  "PUT /api/v2/users/{user}/notifications/preferences": async (w) => {
    const ada = w.as(await w.user("ada"));
    const path = "/api/v2/users/me/notifications/preferences";
    const answer = await ada.put(path, {
      template_disabled_map: { "d4a6271c-cced-4ed0-84ad-afd02a9c7799": true },
    });
    expect(answer.body[0]).to.include({ id: "d4a6271c-cced-4ed0-84ad-afd02a9c7799", disabled: true });
    expect((await ada.get(path)).body).to.deep.equal(answer.body);
    return answer;
  },

  "GET /api/v2/users/{user}/quiet-hours": async (w) => {
    const ada = await w.user("ada");
    const answer = await w.as(ada).get("/api/v2/users/me/quiet-hours");
    expect(answer.body).to.have.length(1);
    expect(answer.body[0]).to.include({ raw_schedule: "CRON_TZ=UTC 0 0 * * *", user_set: false, user_can_set: true });
    return answer;
  },

  "PUT /api/v2/users/{user}/quiet-hours": async (w) => {
    const path = `/api/v2/users/${(await w.user("ada")).username}/quiet-hours`;
    const answer = await owner(w).put(path, { schedule: "CRON_TZ=Europe/Berlin 30 2 * * *" });
    expect(answer.body).to.have.length(1);
    expect(answer.body[0]).to.include({ time: "02:30", timezone: "Europe/Berlin", user_set: true });
    expect((await owner(w).get(path)).body).to.deep.equal(answer.body);
    return answer;
  },

  "GET /api/v2/workspaceproxies": async (w) => {
    const { proxy } = await withProxy(w);
    const answer = await owner(w).get(proxiesPath);
    expect(answer.body).to.have.length(1);
    const names = answer.body[0].regions.map(({ name }: { name: string }) => name);
    expect(names[0]).to.equal("primary");
    expect(names).to.include(proxy.name);
    return answer;
  },

  "POST /api/v2/workspaceproxies": async (w) => {
    const answer = await owner(w).post(proxiesPath, { name: "eu", display_name: "Europe", icon: "/eu.svg" });
    expect(answer.body).to.include({ name: "eu", display_name: "Europe", icon_url: "/eu.svg" });
    expect(answer.body.proxy_token).to.match(/^stwp_/);
    return answer;
  },

  "GET /api/v2/workspaceproxies/{workspaceproxy}": async (w) => {
    const { proxy, path } = await withProxy(w);
    const answer = await owner(w).get(path);
    expect(answer.body).to.include({ id: proxy.id, name: proxy.name, healthy: false });
    expect((await owner(w).get(`${proxiesPath}/${proxy.name.toUpperCase()}`)).body).to.deep.equal(answer.body);
    return answer;
  },

  "PATCH /api/v2/workspaceproxies/{workspaceproxy}": async (w) => {
    const { proxy, path } = await withProxy(w);
    const answer = await owner(w).patch(path, { display_name: "Changed", regenerate_token: true });
    expect(answer.body).to.include({ name: proxy.name, display_name: "Changed" });
    expect(answer.body.proxy_token).to.not.equal(proxy.token);
    return answer;
  },

  "DELETE /api/v2/workspaceproxies/{workspaceproxy}": async (w) => {
    const { path } = await withProxy(w);
    const answer = await owner(w).delete(path);
    expect(answer.body).to.deep.equal({ message: "Proxy has been deleted." });
    expect((await owner(w).get(path)).body).to.deep.include({ deleted: true, status: {} });
    return answer;
  },

  "GET /api/v2/applications/host": async (w) => {
    const answer = await w.as(await w.user("ada")).get("/api/v2/applications/host");
    expect(answer.body).to.deep.equal({ host: "" });
    return answer;
  },

  "GET /api/v2/applications/auth-redirect": async (w) => {
    const { proxy } = await withProxy(w);
    const query = `mutation($id: UUID!) {
      registerWorkspaceProxy(input: { accessUrl: "https://apps.example.com", replicaId: $id }) { workspaceProxy { id } } }`;
    await w.nobody.post("/graphql", { query, variables: { id: newId() } }, { "Service-Proxy-Token": proxy.token });
    const uri = encodeURIComponent("https://apps.example.com/code?a=b");
    const answer = await owner(w).get(`/api/v2/applications/auth-redirect?redirect_uri=${uri}`);
    expect(answer.headers.get("location")).to.match(
      /^https:\/\/apps\.example\.com\/code\?a=b&steward_application_connect=ey/,
    );
    return answer;
  },

  "GET /oauth2/authorize": async (w) => {
    const answer = await owner(w).get(authorizePath(await oauthApp(w)));
    expect(answer.headers.get("content-type")).to.equal("text/html; charset=utf-8");
    expect(answer.body).to.contain("Deploy Bot").and.contain("See your workspaces.");
    return answer;
  },

  "POST /oauth2/authorize": async (w) => {
    const app = await oauthApp(w);
    const answer = await owner(w).post(authorizePath(app));
    const location = new URL(answer.headers.get("location")!);
    expect(location.href).to.match(/^https:\/\/bot\.example\.com\/callback\?code=stwc_/);
    expect(location.searchParams.get("state")).to.equal("xyz");
    return answer;
  },

  "GET /api/v2/oauth2-provider/apps": async (w) => {
    const app = await makeApp(w);
    const other = await makeApp(w);
    const ada = await w.user("ada");
    await grantWithTokens(w, app, ada);
    const answer = await w.as(ada).get(`${appsPath}?user_id=me`);
    expect(answer.body.map(({ id }: { id: string }) => id)).to.deep.equal([app.id]);
    const all = await owner(w).get(appsPath);
    expect(all.body.map(({ id }: { id: string }) => id)).to.include.members([app.id, other.id]);
    expect(all.headers.get("x-total-count")).to.equal(String(all.body.length));
    return answer;
  },

  "POST /api/v2/oauth2-provider/apps": async (w) => {
    const app = { name: "Editor", callback_url: "https://editor.example.com/callback", icon: "/icons/editor.svg" };
    const answer = await owner(w).post(appsPath, app);
    expect(answer.body).to.include(app);
    expect((await owner(w).get(`${appsPath}/${answer.body.id}`)).body).to.deep.equal(answer.body);
    return answer;
  },

  "GET /api/v2/oauth2-provider/apps/{app}": async (w) => {
    const { id, name, path } = await makeApp(w);
    const answer = await w.as(await w.user("ada")).get(path);
    expect(answer.body).to.include({ id, name });
    return answer;
  },

  "PUT /api/v2/oauth2-provider/apps/{app}": async (w) => {
    const { path } = await makeApp(w);
    const change = { name: "Changed", callback_url: "http://localhost:8080/", icon: "" };
    const answer = await owner(w).put(path, change);
    expect(answer.body).to.include(change);
    expect((await owner(w).get(path)).body).to.deep.equal(answer.body);
    return answer;
  },

  "DELETE /api/v2/oauth2-provider/apps/{app}": async (w) => {
    const { path } = await makeApp(w);
    const answer = await owner(w).delete(path);
    expect(await owner(w).get(path)).to.include({ status: 404 });
    return answer;
  },

  "GET /api/v2/oauth2-provider/apps/{app}/secrets": async (w) => {
    const { path, secret } = await makeApp(w);
    await w.app.services.database.pool.query("update oauth2_client_secrets set last_used_at = now() where id = $1", [
      secret.id,
    ]);
    const answer = await owner(w).get(`${path}/secrets`);
    expect(answer.body).to.have.length(1);
    expect(answer.body[0]).to.include({ client_secret_truncated: `****${secret.client_secret_full.slice(-6)}` });
    expect(answer.body[0].last_used_at).to.match(/^\d{4}-\d\d-\d\dT/);
    return answer;
  },

  "POST /api/v2/oauth2-provider/apps/{app}/secrets": async (w) => {
    const { path } = await makeApp(w);
    const answer = await owner(w).post(`${path}/secrets`);
    expect(answer.body).to.have.length(1);
    expect(answer.body[0].client_secret_full).to.match(/^stws_/);
    expect(answer.headers.get("cache-control")).to.equal("no-store");
    return answer;
  },

  "DELETE /api/v2/oauth2-provider/apps/{app}/secrets/{secretID}": async (w) => {
    const { path, secret } = await makeApp(w);
    const answer = await owner(w).delete(`${path}/secrets/${secret.id}`);
    expect((await owner(w).get(`${path}/secrets`)).body).to.deep.equal([]);
    return answer;
  },

  "DELETE /oauth2/tokens": async (w) => {
    const app = await makeApp(w);
    const ada = await w.user("ada");
    const { token } = await grantWithTokens(w, app, ada);
    expect(await w.as({ token }).get(groups)).to.include({ status: 200 });
    const answer = await w.as(ada).delete(`/oauth2/tokens?client_id=${app.id}`);
    expect(await w.as({ token }).get(groups)).to.include({ status: 401 });
    return answer;
  },

  "POST /oauth2/tokens": async (w) => {
    const client = await makeClient(w);
    const { code } = await makeCode(w, client, w.owner);
    const { body } = await redeem(w, client, code);
    const answer = await refresh(w, client, body.refresh_token);
    expect(await w.as({ token: answer.body.access_token }).get(groups)).to.include({ status: 403 });
    return answer;
  },

  "POST /oauth2/revoke": async (w) => {
    const client = await makeClient(w);
    const { body } = await redeem(w, client, (await makeCode(w, client, w.owner)).code);
    const answer = await sendForm(w, "revoke", { client_id: client.id, token: body.refresh_token });
    expect(await w.as({ token: body.access_token }).get(groups)).to.include({ status: 401 });
    return answer;
  },

  "POST /oauth2/introspect": async (w) => {
    const client = await makeClient(w);
    const { body } = await redeem(w, client, (await makeCode(w, client, w.owner)).code);
    const answer = await sendForm(w, "introspect", { ...credentials(client), token: body.access_token });
    expect(answer.body).to.include({ active: true, sub: w.owner.id, client_id: client.id });
    return answer;
  },

  "POST /oauth2/device_authorization": async (w) => {
    const client = await makeClient(w);
    const answer = await sendForm(w, "device_authorization", credentials(client));
    expect(answer.body.user_code).to.match(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    return answer;
  },

  "GET /.well-known/oauth-authorization-server": (w) => w.nobody.get("/.well-known/oauth-authorization-server"),
  "GET /.well-known/oauth-protected-resource": (w) => w.nobody.get("/.well-known/oauth-protected-resource"),
  "GET /.well-known/oauth-protected-resource/api/v2": (w) =>
    w.nobody.get("/.well-known/oauth-protected-resource/api/v2"),
  "GET /.well-known/oauth-protected-resource/graphql": (w) =>
    w.nobody.get("/.well-known/oauth-protected-resource/graphql"),
  "GET /.well-known/oauth-protected-resource/mcp": (w) => w.nobody.get("/.well-known/oauth-protected-resource/mcp"),
  "POST /oauth2/register": async (w) => (await withClient(w)).made,
  "GET /oauth2/clients/{client_id}": async (w) => {
    const { path, headers, metadata } = await withClient(w);
    const read = await w.nobody.get(path, headers);
    expect(read.body).to.deep.include(metadata);
    return read;
  },
  "PUT /oauth2/clients/{client_id}": async (w) => {
    const { path, headers, metadata } = await withClient(w);
    const changed = await w.nobody.put(path, { ...metadata, client_name: "Day Watch" }, headers);
    expect(changed.body.client_name).to.equal("Day Watch");
    return changed;
  },
  "DELETE /oauth2/clients/{client_id}": async (w) => {
    const { path, headers } = await withClient(w);
    const deleted = await w.nobody.delete(path, headers);
    expect((await w.nobody.get(path, headers)).status).to.equal(401);
    return deleted;
  },
};
