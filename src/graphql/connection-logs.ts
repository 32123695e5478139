import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { type ConnectionLogRow, ConnectionType } from "../domain/connection-logs/connections.js";
import { type ConnectionEvent, ConnectionEventKind } from "../domain/connection-logs/events.js";
import { countCap, listConnectionLogs } from "../domain/connection-logs/list.js";
import { type RecordedConnections, recordConnections } from "../domain/connection-logs/recording.js";
import { type OrganizationRow, organizationsById } from "../domain/organizations/organizations.js";
import type { Page } from "../domain/kernel/page.js";
import { type UserRow, usersById } from "../domain/users/users.js";
import { Needs, OpenTo, ReadWith } from "./engine/access.js";
import { connectionOf, PageArgs } from "./engine/connections.js";
import { OrganizationType } from "./organizations.js";
import { DateTime, UUID } from "./engine/scalars.js";
import { PublicUserType } from "./users/users.js";

registerEnumType(ConnectionType, {
  name: "ConnectionType",
  description: "How somebody connects to a workspace.",
  valuesConfig: {
    SSH: { description: "With SSH. A session." },
    VSCODE: { description: "With VS Code. A session." },
    JETBRAINS: { description: "With a JetBrains editor. A session." },
    RECONNECTING_PTY: { description: "With the terminal of the dashboard. A session." },
    WORKSPACE_APP: { description: "With a browser, to an app. A visit." },
    PORT_FORWARDING: { description: "With a browser, to a port. A visit." },
  },
});

registerEnumType(ConnectionEventKind, {
  name: "ConnectionEventKind",
  description: "What is reported of a connection.",
  valuesConfig: {
    CONNECT: { description: "A session began." },
    DISCONNECT: { description: "A session ended." },
    WEB: { description: "Somebody visited an app or a port." },
  },
});

@ObjectType("ConnectionSshInfo", { simpleResolvers: true, description: "What is known of a session." })
class ConnectionSshInfoType {
  @Field(() => UUID, { description: "The id of the session." }) connectionId!: string;
  @Field(() => DateTime, { nullable: true, description: "When it ended; none while no end is reported." })
  disconnectTime!: string | null;
  @Field(() => String, { nullable: true, description: "Why it ended, if that was reported." }) disconnectReason!:
    | string
    | null;
  @Field(() => Int, { nullable: true, description: "The exit code of what ran in it, if that was reported." })
  exitCode!: number | null;
}

@ObjectType("ConnectionWebInfo", { simpleResolvers: true, description: "What is known of a visit." })
class ConnectionWebInfoType implements Pick<ConnectionLogRow, "slugOrPort" | "statusCode" | "userAgent"> {
  @Field(() => String, { description: "The slug of the app, or the port." }) slugOrPort!: string;
  @Field(() => Int, { nullable: true, description: "The status of the app's answer." }) statusCode!: number | null;
  @Field(() => String, { nullable: true, description: "What the visitor's program calls itself." }) userAgent!:
    | string
    | null;
}

@ReadWith("connection_log:read")
@ObjectType("ConnectionLog", {
  simpleResolvers: true,
  description: "A connection to a workspace. What it tells of the workspace is as it was then.",
})
class ConnectionLogType implements Pick<
  ConnectionLogRow,
  "id" | "type" | "connectTime" | "ip" | "workspaceId" | "workspaceName" | "agentName"
> {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => ConnectionType, { description: "How it was made." }) type!: ConnectionType;
  @Field(() => DateTime, { description: "When it began; where only its end was reported, when it ended." })
  connectTime!: string;
  @Field(() => String, { nullable: true, description: "The address it came from, if that is known." }) ip!:
    | string
    | null;
  @Field(() => UUID, { description: "The workspace, which may have been deleted." }) workspaceId!: string;
  @Field(() => String, { description: "What the workspace was called." }) workspaceName!: string;
  @Field(() => String, { description: "The agent that it led to." }) agentName!: string;
}

@ObjectType("ConnectionLogConnection", { description: "A page of ConnectionLog nodes." })
class ConnectionLogConnection extends connectionOf("ConnectionLog", () => ConnectionLogType) {
  @Field(() => Int, { description: "How far `totalCount` counts: one more than this means that there are more." })
  countCap(): number {
    return countCap;
  }
}

@InputType("ConnectionEventInput", { description: "What a machine reports of a connection." })
class ConnectionEventInputType implements ConnectionEvent {
  @Field(() => UUID, { description: "Made by the reporter: what it reports again has the same id, and is skipped." })
  id!: string;
  @Field(() => ConnectionEventKind, { description: "Agents report CONNECT and DISCONNECT, proxies WEB." })
  kind!: ConnectionEventKind;
  @Field(() => ConnectionType, { description: "Agents report sessions, proxies visits." }) type!: ConnectionType;
  @Field(() => DateTime, {
    description: "When it happened, at most 30 days ago; more than 5 minutes ahead counts as now.",
  })
  time!: string;
  @Field(() => UUID, { nullable: true, description: "The workspace. Required of proxies; agents report of their own." })
  workspaceId?: string | null;
  @Field(() => String, { nullable: true, description: "The agent. Required of proxies; agents report of themselves." })
  agentName?: string | null;
  @Field(() => String, { nullable: true, description: "The address that the connection came from." }) ip?:
    | string
    | null;
  @Field(() => UUID, { nullable: true, description: "Required of sessions: what their events have in common." })
  connectionId?: string | null;
  @Field(() => String, { nullable: true, description: "Why it ended; 512 characters are kept. Only for DISCONNECT." })
  disconnectReason?: string | null;
  @Field(() => Int, { nullable: true, description: "The exit code of what ran. Only for DISCONNECT." })
  exitCode?: number | null;
  @Field(() => String, { nullable: true, description: "Required of visits: the slug of the app, or the port." })
  slugOrPort?: string | null;
  @Field(() => Int, { nullable: true, description: "The status of the app's answer. Only for WEB." })
  statusCode?: number | null;
  @Field(() => UUID, { nullable: true, description: "The visitor; none if anonymous. Only for WEB." })
  userId?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "What the visitor's program calls itself; 512 characters are kept. Only for WEB.",
  })
  userAgent?: string | null;
}

@InputType({ description: "What a machine reports of connections." })
class RecordConnectionsInput {
  @Field(() => [ConnectionEventInputType], { description: "At most 100; a faulty one refuses all of them." })
  events!: ConnectionEventInputType[];
}

@ObjectType({ simpleResolvers: true, description: "The events are in the connection log." })
class RecordConnectionsPayload implements RecordedConnections {
  @Field(() => Int, { description: "How many told something new." }) recorded!: number;
  @Field(() => Int, { description: "How many told nothing new." }) skipped!: number;
}

@Resolver(() => ConnectionLogType)
export class ConnectionLogsResolver {
  @FieldResolver(() => OrganizationType, { description: "The organisation of the workspace." })
  organization(
    @Root() { organizationId }: ConnectionLogRow,
    @Ctx() ctx: Context,
  ): Promise<OrganizationRow | undefined> {
    return ctx.load(organizationsById, organizationId);
  }

  @FieldResolver(() => PublicUserType, { description: "Who owned the workspace." })
  workspaceOwner(@Root() { workspaceOwnerId }: ConnectionLogRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, workspaceOwnerId);
  }

  @FieldResolver(() => ConnectionSshInfoType, { nullable: true, description: "Of sessions: their end." })
  sshInfo(@Root() row: ConnectionLogRow): ConnectionLogRow | null {
    return row.connectionId === null ? null : row;
  }

  @FieldResolver(() => ConnectionWebInfoType, { nullable: true, description: "Of visits: what was visited, by whom." })
  webInfo(@Root() row: ConnectionLogRow): ConnectionLogRow | null {
    return row.slugOrPort === null ? null : row;
  }

  @Needs("connection_log:read")
  @Query(() => ConnectionLogConnection, {
    description: "Who connected to which workspace, as far as the caller may know, newest first.",
  })
  connectionLogs(
    @Arg("q", () => String, {
      nullable: true,
      description:
        "Terms `key:value`, all of which count; the keys: organization, workspace_owner, workspace_owner_email, username, user_email, type, status (ongoing, completed), connected_after, connected_before, workspace_id, connection_id.",
    })
    q: string | null | undefined,
    @Args(() => PageArgs) page: PageArgs,
    @Ctx() ctx: Context,
  ): Promise<Page<ConnectionLogRow>> {
    return listConnectionLogs(ctx, q, page);
  }

  @OpenTo("agent", "proxy")
  @Mutation(() => RecordConnectionsPayload, { description: "Takes what an agent or a proxy reports of connections." })
  recordConnections(
    @Arg("input", () => RecordConnectionsInput, { description: "The reports." }) { events }: RecordConnectionsInput,
    @Ctx() ctx: Context,
  ): Promise<RecordedConnections> {
    return recordConnections(ctx, events);
  }
}

@Resolver(() => ConnectionWebInfoType)
export class ConnectionWebInfoResolver {
  @FieldResolver(() => PublicUserType, { nullable: true, description: "The visitor; none if anonymous." })
  user(@Root() { userId }: ConnectionLogRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return userId === null ? null : ctx.load(usersById, userId);
  }
}
