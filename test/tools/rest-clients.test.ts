// Clients generated from the OpenAPI description of a running server, which do the main job over HTTP.
import { createClient } from "@hey-api/openapi-ts";
import { expect } from "chai";
import openapiTypescript, { astToString } from "openapi-typescript";
import { ownerPassword } from "../support/app.js";
import { runJob } from "../support/background.js";
import { type Person, world } from "../support/world.js";
import { Project } from "./project.js";

/** The steps of the program of each client, and its results. */
type Work = (server: string, email: string, password: string, member: string) => Promise<Result>;

interface Result {
  group: { id: string; name: string };
  members: string[];
  missing: string;
  titles: string[];
  unread: number;
}

const withOpenapiFetch = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Group = components["schemas"]["Group"];

export async function work(baseUrl: string, email: string, password: string, member: string) {
  const login = await createClient<paths>({ baseUrl }).POST("/api/v2/users/login", { body: { email, password } });
  if (!login.data) throw new Error(login.error.message);
  const api = createClient<paths>({ baseUrl, headers: { "Service-Session-Token": login.data.session_token } });

  const created = await api.POST("/api/v2/organizations/{organization}/groups", {
    params: { path: { organization: "default" } },
    body: { name: "fetched", quota_allowance: 5 },
  });
  if (!created.data) throw new Error(created.error.message);
  const path = { group: created.data.id };
  const changed = await api.PATCH("/api/v2/groups/{group}", {
    params: { path },
    body: { display_name: "Fetched", add_users: [member] },
  });
  if (!changed.data) throw new Error(changed.error.message);
  const group: Group = changed.data;
  const { data: members } = await api.GET("/api/v2/groups/{group}/members", {
    params: { path, query: { limit: 10 } },
  });
  await api.DELETE("/api/v2/groups/{group}", { params: { path } });
  const missing = await api.GET("/api/v2/groups/{group}", { params: { path } });

  await api.POST("/api/v2/notifications/custom", { body: { content: { title: "Tea" } } });
  const inbox = await api.GET("/api/v2/notifications/inbox", { params: { query: { read_status: "unread" } } });
  if (!inbox.data) throw new Error(inbox.error.message);
  const notifications = inbox.data.notifications;
  const read = await api.PUT("/api/v2/notifications/inbox/{id}/read-status", {
    params: { path: { id: notifications[0]?.id ?? "" } },
    body: { is_read: true },
  });
  return {
    group: { id: group.id, name: group.display_name },
    members: members?.users.map(({ username }) => username) ?? [],
    missing: missing.error?.message ?? "",
    titles: notifications.map(({ title }) => title),
    unread: read.data?.unread_count ?? -1,
  };
}

/** Each of these calls lacks a required value. */
export async function faulty() {
  const api = createClient<paths>();
  // @ts-expect-error -- the password
  await api.POST("/api/v2/users/login", { body: { email: "" } });
  // @ts-expect-error -- the name
  await api.POST("/api/v2/organizations/{organization}/groups", { params: { path: { organization: "" } }, body: {} });
  // @ts-expect-error -- the group in the path
  await api.GET("/api/v2/groups/{group}", { params: { path: {} } });
  // @ts-expect-error -- the page size
  await api.GET("/api/v2/connectionlog", { params: { query: {} } });
}
`;

const withHeyApi = `
import { createClient, createConfig } from "./api/client/index.js";
import type { Group } from "./api/types.gen.js";
import * as api from "./api/sdk.gen.js";

export async function work(baseUrl: string, email: string, password: string, member: string) {
  const anonymous = createClient(createConfig({ baseUrl, throwOnError: true }));
  const login = await api.login({ client: anonymous, body: { email, password }, throwOnError: true });
  const auth = login.data.session_token;
  const client = createClient(createConfig({ baseUrl, auth }));
  const sure = { client, throwOnError: true } as const;

  const body = { name: "generated", quota_allowance: 5 };
  const created = await api.createGroup({ ...sure, path: { organization: "default" }, body });
  const path = { group: created.data.id };
  const changed = await api.updateGroup({ ...sure, path, body: { display_name: "Generated", add_users: [member] } });
  const group: Group = changed.data;
  const members = await api.listGroupMembers({ ...sure, path, query: { limit: 10 } });
  await api.deleteGroup({ ...sure, path });
  const missing = await api.getGroup({ client, path });

  await api.sendCustomNotification({ ...sure, body: { content: { title: "Tea" } } });
  const inbox = await api.listInboxNotifications({ ...sure, query: { read_status: "unread" } });
  const notifications = inbox.data.notifications;
  const read = await api.markInboxNotification({
    ...sure,
    path: { id: notifications[0]?.id ?? "" },
    body: { is_read: true },
  });
  return {
    group: { id: group.id, name: group.display_name },
    members: members.data.users.map(({ username }) => username),
    missing: missing.error?.message ?? "",
    titles: notifications.map(({ title }) => title),
    unread: read.data.unread_count,
  };
}

/** Each of these calls lacks a required value. */
export async function faulty() {
  // @ts-expect-error -- the password
  await api.login({ body: { email: "" } });
  // @ts-expect-error -- the name
  await api.createGroup({ path: { organization: "" }, body: {} });
  // @ts-expect-error -- the group in the path
  await api.getGroup({ path: {} });
  // @ts-expect-error -- the page size
  await api.listConnectionLogs({ query: {} });
}
`;

describe("clients generated from the OpenAPI description", () => {
  const w = world();
  let description: object;
  let project: Project;
  before(async () => {
    description = (await w().nobody.get("/openapi.json")).body;
  });
  afterEach(() => project.remove());

  /** Runs the work of a program as a new owner, and checks its result. */
  async function drive(program: string, name: string) {
    const { work } = (await project.load(program)) as { work: Work };
    const member: Person = await w().user("member");
    // The owner is notified of new accounts, by a job.
    await runJob(w().app, "noticeJob");
    await w().as(w().owner).put("/api/v2/notifications/inbox/mark-all-as-read");
    const { group, ...rest } = await work(w().url, w().owner.email, ownerPassword, member.id);
    expect(group.name).to.equal(name);
    expect(rest).to.deep.equal({
      members: [member.username],
      missing: "Resource not found or you do not have access to it.",
      titles: ["Tea"],
      unread: 0,
    });
    expect(await w().as(w().owner).get(`/api/v2/groups/${group.id}`)).to.include({ status: 404 });
  }

  it("by openapi-typescript compile with required fields required, and work over openapi-fetch", async () => {
    const types = astToString(await openapiTypescript(description as never));
    project = new Project({ "src/api.ts": types, "src/program.ts": withOpenapiFetch });
    expect(await project.compile()).to.equal("");
    await drive("src/program.ts", "Fetched");
  });

  it("by Hey API compile with required fields required, and work", async () => {
    project = new Project({ "src/program.ts": withHeyApi, "openapi.json": JSON.stringify(description) });
    await createClient({
      input: project.path("openapi.json"),
      output: { path: project.path("src/api"), importFileExtension: ".js" },
      plugins: ["@hey-api/client-fetch", "@hey-api/sdk", "@hey-api/typescript"],
      logs: { level: "silent" },
    });
    // The generated client code does not compile with it.
    expect(await project.compile({ exactOptionalPropertyTypes: false })).to.equal("");
    await drive("src/program.ts", "Generated");
  });
});
