import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { Organization } from "./organizations.js";
import { User } from "./users.js";

const WorkspaceSchema = defineEntity({
  name: "Workspace",
  tableName: "workspaces",
  extends: BaseSchema,
  uniques: [
    {
      name: "workspaces_name_unique",
      expression:
        "create unique index workspaces_name_unique on workspaces (owner_id, lower(name)) where deleted_at is null",
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().index("workspaces_organization_index"),
    owner: () => p.manyToOne(User).ref().index(false),
    name: p.string().length(32),
    deletedAt: moment().nullable(),
  },
});
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);

/** Agents of started workspaces. Each start creates new agents. */
const WorkspaceAgentSchema = defineEntity({
  name: "WorkspaceAgent",
  tableName: "workspace_agents",
  extends: BaseSchema,
  uniques: [
    { name: "workspace_agents_token_unique", properties: ["tokenHash"] },
    {
      name: "workspace_agents_name_unique",
      expression:
        "create unique index workspace_agents_name_unique on workspace_agents (workspace_id, name) where token_ended_at is null",
    },
  ],
  properties: {
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index("workspace_agents_workspace_index"),
    name: p.string().length(32),
    /** SHA-256 of the token after its `stwa_` prefix. */
    tokenHash: p.type("bytea").$type<Buffer>(),
    /** When the token lost effect because the workspace was started again, stopped, or deleted. */
    tokenEndedAt: moment().nullable(),
  },
});
export class WorkspaceAgent extends WorkspaceAgentSchema.class {}
WorkspaceAgentSchema.setClass(WorkspaceAgent);

/** HTTP applications that agents serve. */
const WorkspaceAppSchema = defineEntity({
  name: "WorkspaceApp",
  tableName: "workspace_apps",
  extends: BaseSchema,
  uniques: [{ name: "workspace_apps_slug_unique", properties: ["agent", "slug"] }],
  properties: {
    agent: () => p.manyToOne(WorkspaceAgent).ref().deleteRule("cascade").index(false),
    slug: p.string().length(32),
    /** URL at which the agent reaches the application; empty if none. */
    url: p.string().length(2048).default(""),
    sharingLevel: p.enum(["owner", "authenticated", "organization", "public"]).default("owner"),
  },
});
export class WorkspaceApp extends WorkspaceAppSchema.class {}
WorkspaceAppSchema.setClass(WorkspaceApp);
