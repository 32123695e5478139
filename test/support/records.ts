// Records of every kind, inserted directly into the tables, so that all lists of the schema have something in them.
import { notificationTemplates } from "./catalog.js";
import { newId } from "./ids.js";
import { madeUp } from "./licensing.js";
import { insert } from "./stage.js";
import type { World } from "./world.js";

/** The number of a set of records, and the ids to which its rows refer. */
interface Records {
  n: number;
  /** The id of a record of this set by its kind, and of one of the first set. */
  own: (kind: string) => string;
  first: (kind: string) => string;
  /** The owner of the world. */
  owner: string;
}

const ids = new Map<string, string>();

/** The id of the `n`th record of a kind, from 1. */
export function recordId(kind: string, n = 1): string {
  const key = `${kind} ${n}`;
  const id = ids.get(key) ?? newId();
  ids.set(key, id);
  return id;
}

/**
 * Adds the `n`th record of every kind. The first records have lists of their own, each of which gets another entry: all
 * groups are in the first organization, all users in the first group, all versions belong to the first template, and so
 * on. The workspaces, and what users have for themselves, belong to the owner of the world.
 */
export function addRecords(w: World, n: number): Promise<void> {
  const records = { n, own: (kind: string) => recordId(kind, n), first: recordId, owner: w.owner.id };
  const parts = [
    people,
    possessions,
    messages,
    applications,
    logs,
    proxies,
    templates,
    jobs,
    workspaces,
    agents,
    tasks,
  ];
  return insert(w, Object.assign({}, ...parts.map((part) => part(records))) as Record<string, object[]>);
}

const created = { created_at: "now" };
const times = { ...created, updated_at: "now" };
const later = "2999-01-01";

/** Bytes that no other record has. */
const bytesOf = (id: string) => `\\x${id.replaceAll("-", "")}`;

const named = (n: number) => Array.from({ length: n }, (_, nr) => `name_${nr}`);
const valuesOf = (n: number) => Object.fromEntries(named(n).map((name) => [name, "value"]));

function people({ n, own, first, owner }: Records) {
  const organization_id = first("organization");
  const group_id = own("group");
  const user_id = own("user");
  const site = ["auditor", "user-admin", "template-admin"].slice(0, n);
  const upToThis = (kind: string) => Array.from({ length: n }, (_, nr) => recordId(kind, nr + 1));
  return {
    users: [
      {
        ...times,
        id: user_id,
        email: `user-${n}@example.com`,
        username: `user-${n}`,
        login_type: "password",
        site_roles: site,
      },
    ],
    invitations: [
      {
        ...times,
        id: own("invitation"),
        email: `guest-${n}@example.com`,
        site_roles: site,
        memberships: upToThis("organization").map((id) => ({ organizationId: id, roles: [] })),
        group_ids: upToThis("group"),
        inviter_id: owner,
        inviter_epoch: 0,
        token_hash: bytesOf(own("invitation")),
        sent_at: "now",
        expires_at: later,
      },
    ],
    organizations: [{ ...times, id: own("organization"), name: `organization-${n}` }],
    organization_members: [
      { ...created, organization_id: own("organization"), user_id: owner, roles: [] },
      ...[...new Set([organization_id, own("organization")])].map((each) => ({
        ...created,
        organization_id: each,
        user_id,
        roles: site.map((role) => `organization-${role}`),
      })),
    ],
    groups: [{ ...times, id: group_id, organization_id, name: `group-${n}` }],
    group_members: [
      { ...created, group_id, organization_id, user_id: owner },
      ...[...new Set([first("group"), group_id])].map((each) => ({
        ...created,
        group_id: each,
        organization_id,
        user_id,
      })),
    ],
    event_endpoints: [
      {
        ...times,
        id: own("event endpoint"),
        organization_id,
        name: `endpoint-${n}`,
        url: `https://events-${n}.example.com/`,
        event_types: Array.from({ length: n }, () => "group.*"),
        state: "paused",
        maker_id: user_id,
        position: 0,
      },
    ],
    event_endpoint_secrets: [
      {
        ...created,
        id: own("event secret"),
        endpoint_id: first("event endpoint"),
        suffix: `000${n}`,
        key_id: "test",
        secret_nonce: "\\x",
        secret_ciphertext: "\\x",
      },
    ],
    event_deliveries: [
      {
        ...created,
        id: own("event delivery"),
        endpoint_id: first("event endpoint"),
        event_id: own("event"),
        number: n,
        type: "group.create",
        state: "delivered",
        next_attempt_at: "now",
        expires_at: later,
        finished_at: "now",
        log: Array.from({ length: n }, () => ({
          time: "2026-01-01T00:00:00.000Z",
          duration: n,
          status: 204,
          excerpt: "",
          failure: null,
        })),
      },
    ],
    group_ai_budgets: [{ ...times, group_id, spend_limit_micros: 5 }],
    ai_usage: [{ id: own("spending"), user_id, organization_id, amount_micros: n, at: "now" }],
    scim_keys: [
      {
        ...created,
        id: `scim-key-${n}`,
        name: `key-${n}`,
        source: "default",
        organization_ids: Array.from({ length: n }, (_, nr) => recordId("organization", nr + 1)),
        token_hash: bytesOf(own("scim key")),
        created_by: user_id,
      },
    ],
    sign_in_providers: [
      {
        ...times,
        id: own("sign-in provider"),
        name: `provider-${n}`,
        kind: "oidc",
        display_name: "",
        icon: "",
        issuer: `https://id-${n}.example.com`,
        client_id: "steward",
        client_auth: "secret",
        scopes: ["openid"],
        subject_claim: "sub",
        email_verified: "trusted",
        email_domains: [],
        follows_email: true,
        links_by_email: "domains",
        admits_newcomers: true,
        organization_ids: Array.from({ length: n }, (_, nr) => recordId("organization", nr + 1)),
        tenants: [],
        hosted_domains: [],
        claim_mappings: Array.from({ length: n }, (_, nr) => ({
          claim: `claim-${nr}`,
          separator: "",
          absent: "keep",
          empty: "remove",
          malformed: "keep",
          grants: Array.from({ length: n }, (__, value) => ({
            values: [`value-${value}`],
            groups: [],
            organization: "",
            roles: [],
          })),
          groupsOf: "",
          groupPattern: "*",
          mostNewGroups: 0,
        })),
        is_enabled: true,
        position: n,
      },
    ],
    scim_requests: [
      {
        id: own("scim request"),
        scim_key_id: "scim-key-1",
        time: "now",
        method: "GET",
        path: "/scim/v2/Users",
        status: 400,
        request_id: `request-${n}`,
      },
    ],
    scim_user_links: [
      { source: "default", user_id, external_id: `user-${n}`, attributes: {} },
      { source: `source-${n}`, user_id: first("user"), attributes: {} },
    ],
    scim_group_links: [
      { source: "default", group_id, organization_id, external_id: `group-${n}` },
      { source: `source-${n}`, group_id: first("group"), organization_id },
    ],
  };
}

/** The records that the owner of the world has as a user. */
function possessions({ n, own, owner: user_id }: Records) {
  const key_id = "test";
  const empty = "\\x";
  return {
    api_keys: [
      {
        ...created,
        id: `api-key-${n}`,
        user_id,
        kind: "token",
        name: `key-${n}`,
        scopes: ["all"],
        secret_hash: bytesOf(own("api key")),
        made_by: "api-key-1",
        expires_at: later,
      },
    ],
    user_secrets: [
      {
        ...times,
        id: own("secret"),
        user_id,
        name: `secret-${n}`,
        key_id,
        value_nonce: empty,
        value_ciphertext: empty,
        value_bytes: 1,
      },
    ],
    external_auth_links: [
      {
        ...times,
        id: own("link"),
        user_id,
        provider_id: `provider-${n}`,
        access_token_key_id: key_id,
        access_token_nonce: empty,
        access_token_ciphertext: empty,
      },
    ],
    licenses: [
      {
        uuid: own("license"),
        uploaded_at: "now",
        token: madeUp({ jti: own("license") }),
        token_sha256: bytesOf(own("license")),
      },
    ],
  };
}

function messages({ n, own, first, owner: user_id }: Records) {
  const template_id = notificationTemplates[n]!.id;
  return {
    inbox_notifications: [
      {
        ...created,
        id: own("notification"),
        user_id,
        seq: n,
        template_id,
        targets: [],
        title: "Hello",
        content: "",
        icon: "",
        actions: named(n).map((label) => ({ label, url: "/" })),
      },
    ],
    notification_preferences: [{ user_id, template_id, method: "inbox", is_disabled: true, updated_at: "now" }],
    notification_messages: [
      {
        ...created,
        id: own("message"),
        event_id: own("message"),
        template_id,
        user_id: own("user"),
        method: "smtp",
        state: "sent",
        attempts_left: 0,
        next_attempt_at: "now",
        expires_at: later,
        finished_at: "now",
      },
    ],
    notification_attempts: [
      { message_id: first("message"), number: n, time: "now", duration: 1, outcome: "done", replica: own("replica") },
    ],
  };
}

/** OAuth2 applications and the grants of the owner. */
function applications({ n, own, first, owner }: Records) {
  return {
    oauth2_clients: [
      {
        ...times,
        id: own("app"),
        kind: "admin",
        type: "confidential",
        name: `app-${n}`,
        icon: "",
        redirect_uris: ["https://app.example.com/"],
        pkce_required: false,
        grant_types: ["authorization_code"],
        metadata: {},
        service_user_id: own("user"),
        created_by_id: own("user"),
        is_disabled: false,
      },
    ],
    oauth2_resources: [{ uri: `https://app-${n}.example.com`, client_id: own("app") }],
    oauth2_client_secrets: [
      {
        ...times,
        id: own("app secret"),
        client_id: first("app"),
        key: `secret-${n}`,
        secret_hash: bytesOf(own("app secret")),
        suffix: "abcdef",
      },
    ],
    oauth2_grants: [
      {
        ...created,
        id: own("grant"),
        user_id: owner,
        client_id: own("app"),
        scopes: ["all"],
        audiences: [],
        last_used_at: "now",
        expires_at: later,
      },
    ],
  };
}

function logs({ n, own }: Records) {
  const connection = {
    organization_id: own("organization"),
    workspace_id: own("workspace"),
    workspace_name: `desk-${n}`,
    workspace_owner_id: own("user"),
    agent_name: "main",
    connect_time: "now",
    reporter: own("agent"),
  };
  return {
    audit_events: [
      {
        id: own("event"),
        time: later,
        actor_id: own("user"),
        actor_kind: "user",
        action: "create",
        resource_type: "organization",
        resource_id: own("organization"),
        organization_id: own("organization"),
        diff: {},
        request_id: "records",
      },
    ],
    audit_readers: [
      {
        id: own("audit reader"),
        user_id: own("user"),
        username: `user-${n}`,
        filter: {},
        position: 0,
        started_at: "now",
        seen_at: "now",
      },
    ],
    connection_logs: [
      {
        ...connection,
        id: own("visit"),
        type: "workspace_app",
        slug_or_port: "chat",
        user_id: own("user"),
        connection_id: null,
      },
      { ...connection, id: own("session"), type: "ssh", connection_id: own("session") },
    ],
  };
}

const proxies = ({ n, own, first }: Records) => ({
  workspace_proxies: [
    {
      ...times,
      id: own("proxy"),
      name: `proxy-${n}`,
      token_hash: bytesOf(own("proxy")),
      access_url: `https://proxy-${n}.example.net`,
      registration: 1,
      status: "ok",
    },
  ],
  workspace_proxy_replicas: [
    { ...created, proxy_id: first("proxy"), id: own("replica"), hostname: "host", version: "1", last_seen_at: "now" },
  ],
});

/** Templates with an active version each, and further versions, presets, and access of the first one. */
function templates({ n, own, first }: Records) {
  const organization_id = first("organization");
  const template_id = first("template");
  const creator_id = own("user");
  const content = { schema: "steward.template/1", provisioner: "echo", tags: {}, variables: [] };
  const options = named(n).map((name) => ({ name, value: name, description: "", icon: "" }));
  const rules = {
    type: "string",
    description: "",
    icon: "",
    display_name: "",
    mutable: true,
    ephemeral: false,
    options,
  };
  const parameters = named(n).map((name) => ({ ...rules, name }));
  const version = (kind: string, of: string) => ({
    ...times,
    id: own(kind),
    template_id: of,
    name: `${kind}-${n}`,
    document_id: own("document"),
    creator_id,
    job_id: own(`job of ${kind}`),
    is_imported: true,
  });
  const entry = { ...created, template_id, role: "use" };
  return {
    template_documents: [
      {
        ...created,
        id: own("document"),
        organization_id,
        sha256: bytesOf(own("document")),
        content: { ...content, parameters, presets: [], resources: [] },
      },
    ],
    templates: [
      {
        ...times,
        id: own("template"),
        organization_id,
        name: `template-${n}`,
        creator_id,
        active_version_id: own("active"),
        version_count: 1,
      },
    ],
    template_versions: [version("active", own("template")), version("version", template_id)],
    template_presets: [
      {
        ...created,
        id: own("preset"),
        version_id: first("active"),
        name: `preset-${n}`,
        parameters: valuesOf(n),
        prebuild_schedules: named(n).map(() => ({ cron: "* 8-17 * * 1-5", timezone: "UTC", instances: 1 })),
      },
    ],
    template_acl_entries: [
      { ...entry, id: own("user of template"), user_id: own("user"), group_id: null },
      { ...entry, id: own("group of template"), group_id: own("group") },
    ],
  };
}

/** Keys and daemons, each of which has a job and has had another one, and the jobs of versions and builds. */
function jobs({ n, own, first }: Records) {
  const organization_id = first("organization");
  const creator_id = own("user");
  const tags = { scope: "organization", owner: "" };
  const job = (kind: string, columns: object) => ({
    ...created,
    id: own(kind),
    organization_id,
    type: "template_version_import",
    status: "succeeded",
    provisioner: "echo",
    tags,
    initiator_id: creator_id,
    document_id: own("document"),
    version_id: null,
    workspace_build_id: null,
    worker_id: null,
    lease_expires_at: null,
    started_at: "now",
    completed_at: "now",
    ...columns,
  });
  const ofBuild = (kind: string) => job(`job of ${kind}`, { type: "workspace_build", workspace_build_id: own(kind) });
  const tried = { type: "template_version_dry_run", version_id: own("version"), completed_at: null };
  return {
    provisioner_keys: [
      {
        ...created,
        id: own("provisioner key"),
        organization_id,
        name: `key-${n}`,
        secret_hash: bytesOf(own("provisioner key")),
        tags: {},
        creator_id,
      },
    ],
    provisioner_daemons: [
      {
        ...created,
        id: own("daemon"),
        organization_id,
        name: `daemon-${n}`,
        key_id: first("provisioner key"),
        provisioners: ["echo"],
        tags,
        last_seen_at: "now",
      },
    ],
    provisioner_jobs: [
      job("job of version", { version_id: own("version"), worker_id: own("daemon") }),
      job("job of active", { version_id: own("active") }),
      ofBuild("build"),
      ofBuild("rebuild"),
      job("running job", { ...tried, status: "running", worker_id: own("daemon"), lease_expires_at: later }),
      job("waiting job", { ...tried, status: "pending", created_at: later, started_at: null }),
    ],
    provisioner_job_logs: [
      {
        ...created,
        job_id: first("waiting job"),
        sequence: n,
        id: own("line of job"),
        level: "info",
        source: "provisioner",
        output: "Done",
      },
    ],
  };
}

/** Workspaces with a build each, further builds and access of the first one, and further resources of its first build. */
function workspaces({ n, own, first, owner: owner_id }: Records) {
  const workspace_id = first("workspace");
  const build = (kind: string, of: string, build_number: number) => ({
    ...times,
    id: own(kind),
    workspace_id: of,
    build_number,
    version_id: first("version"),
    transition: "start",
    reason: "initiator",
    initiator_id: own("user"),
    job_id: own(`job of ${kind}`),
    parameters: valuesOf(n),
  });
  const resource = (kind: string, job_id: string, position: number) => ({
    ...created,
    id: own(kind),
    job_id,
    transition: "start",
    position,
    name: `${kind}-${n}`,
    metadata: named(n).map((key) => ({ key, value: "value", sensitive: false })),
  });
  const entry = { ...created, workspace_id, role: "use" };
  return {
    workspaces: [
      {
        ...times,
        id: own("workspace"),
        organization_id: first("organization"),
        owner_id,
        name: `desk-${n}`,
        template_id: first("template"),
        latest_build_id: own("build"),
        latest_transition: "start",
        latest_status: "running",
      },
    ],
    workspace_transfers: [
      {
        ...created,
        id: own("transfer"),
        workspace_id: own("workspace"),
        former_owner_id: owner_id,
        receiver_id: owner_id,
        offered_by_id: own("user"),
        expires_at: later,
      },
    ],
    workspace_builds: [build("build", own("workspace"), 1), build("rebuild", workspace_id, n + 1)],
    workspace_resources: [resource("resource", own("job of build"), 0), resource("disk", first("job of build"), n)],
    workspace_acl_entries: [
      { ...entry, id: own("user of workspace"), user_id: own("user"), group_id: null },
      { ...entry, id: own("group of workspace"), group_id: own("group") },
    ],
  };
}

/** An agent with an app for each workspace, further agents of the first resource, and all that the first agent has. */
function agents({ n, own, first }: Records) {
  const workspace_id = first("workspace");
  const agent_id = first("agent");
  const agent = (kind: string, workspace: string, build_id: string, resource_id: string) => ({
    ...times,
    id: own(kind),
    workspace_id: workspace,
    build_id,
    resource_id,
    name: `${kind}-${n}`,
    token_hash: bytesOf(own(kind)),
    environment: valuesOf(n),
  });
  const app = (kind: string, of: string) => ({
    ...times,
    id: own(kind),
    agent_id: of,
    slug: `${kind}-${n}`,
    url: "http://127.0.0.1:8080",
  });
  return {
    workspace_agents: [
      agent("agent", own("workspace"), own("build"), own("resource")),
      agent("assistant", workspace_id, first("build"), first("resource")),
    ],
    workspace_apps: [app("chat", own("agent")), app("tool", agent_id)],
    workspace_app_statuses: [
      { ...created, id: own("status"), workspace_id, agent_id, app_id: first("chat"), state: "working" },
    ],
    workspace_scripts: [
      {
        ...created,
        id: own("script"),
        agent_id,
        position: n,
        display_name: `Script ${n}`,
        script: "true",
        log_source_id: own("script"),
      },
    ],
    workspace_agent_logs: [
      {
        ...created,
        agent_id,
        sequence: n,
        id: own("line of agent"),
        level: "info",
        log_source_id: own("script"),
        output: "Done",
      },
    ],
  };
}

/** A paused task for each workspace, with stored logs, and further inputs and messages of the first one. */
const tasks = ({ n, own, first, owner: owner_id }: Records) => ({
  tasks: [
    {
      ...times,
      id: own("task"),
      owner_id,
      organization_id: first("organization"),
      name: `desk-${n}`,
      initial_prompt: "Fix it",
      version_id: first("version"),
      workspace_id: own("workspace"),
      status: "paused",
    },
  ],
  task_builds: [{ task_id: own("task"), build_number: 1, agent_id: own("agent"), app_id: own("chat") }],
  task_messages: [
    {
      ...created,
      id: own("input"),
      task_id: first("task"),
      seq: n,
      sender_id: own("user"),
      content: "Go on",
      state: "queued",
      next_attempt_at: later,
    },
  ],
  task_conversations: [
    { task_id: own("task"), build_number: 1, protocol: "acp", is_reported: true, revision: 1, updated_at: "now" },
  ],
  task_conversation_messages: [
    {
      id: own("task message"),
      task_id: first("task"),
      key: `message-${n}`,
      seq: n,
      build_number: 1,
      role: "agent",
      parts: [],
      bytes: 2,
      revision: 1,
      written_at: "now",
    },
  ],
  task_log_snapshots: [
    {
      task_id: own("task"),
      build_number: 1,
      format: "agentapi",
      messages: named(n).map((content, id) => ({ id, role: "agent", content, time: "2026-01-01T00:00:00Z" })),
      captured_at: "now",
    },
  ],
});
