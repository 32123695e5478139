import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  ConnectionLogOrder,
  type ConnectionLogRow,
  ConnectionLogsQuery,
  ConnectionType,
  countCap,
  listConnectionLogs,
} from "../domain/connection-logs/connection-logs.js";
import { ConnectionEvent, ConnectionEventKind } from "../domain/connection-logs/connection-events.js";
import { recordConnections, RecordConnections, type RecordedConnections } from "../domain/connection-logs/recording.js";
import { type OrganizationRow, organizationsById } from "../domain/organizations/organizations.js";
import type { Page } from "../domain/kernel/paging.js";
import { type UserRow, usersById } from "../domain/users/users.js";
import { Access } from "./engine/access.js";
import { Mutates, enumType } from "./engine/declarations.js";
import { connectionOf, orderType } from "./engine/lists.js";
import { OrganizationType } from "./organizations/organizations.js";
import { DateTime, UUID } from "./engine/scalars.js";
import { argumentsOf, inputType } from "./engine/inputs.js";
import { PublicUserType } from "./users/users.js";

enumType(
  { ConnectionType },
  "How a user connects to a workspace. Each type is either a session, with a start and an end, or a visit.",
  {
    SSH: "SSH (session).",
    VSCODE: "VS Code (session).",
    JETBRAINS: "A JetBrains editor (session).",
    RECONNECTING_PTY: "The web terminal of the dashboard (session).",
    WORKSPACE_APP: "A workspace application in a browser (visit).",
    PORT_FORWARDING: "A forwarded port in a browser (visit).",
  },
);

enumType({ ConnectionEventKind }, "Kind of a connection event.", {
  CONNECT: "A session started.",
  DISCONNECT: "A session ended.",
  WEB: "A user visited an application or a forwarded port.",
});

@ObjectType("ConnectionSshInfo", { simpleResolvers: true, description: "Details of a session." })
class ConnectionSshInfoType {
  @Field(() => UUID, { description: "ID of the session." }) connectionId!: string;
  @Field(() => DateTime, { nullable: true, description: "When the session ended; null until its end is reported." })
  disconnectTime!: string | null;
  @Field(() => String, { nullable: true, description: "Reason for the end of the session, if reported." })
  disconnectReason!: string | null;
  @Field(() => Int, { nullable: true, description: "Exit code of the process that ran in the session, if reported." })
  exitCode!: number | null;
}

@ObjectType("ConnectionWebInfo", { simpleResolvers: true, description: "Details of a visit." })
class ConnectionWebInfoType implements Pick<ConnectionLogRow, "slugOrPort" | "statusCode" | "userAgent"> {
  @Field({ description: "Slug of the application, or number of the forwarded port." })
  slugOrPort!: string;
  @Field(() => Int, { nullable: true, description: "HTTP status of the application's response, if reported." })
  statusCode!: number | null;
  @Field(() => String, { nullable: true, description: "User-Agent header of the visitor, if reported." }) userAgent!:
    | string
    | null;
}

@Access({ readWith: "connection_log:read" })
@ObjectType("ConnectionLog", {
  simpleResolvers: true,
  description: "A connection to a workspace. Names are those at the time of the connection.",
})
class ConnectionLogType implements Pick<
  ConnectionLogRow,
  "id" | "type" | "connectTime" | "ip" | "workspaceId" | "workspaceName" | "agentName"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => ConnectionType, { description: "Type of the connection." }) type!: ConnectionType;
  @Field(() => DateTime, { description: "When the connection started, or when it ended if only its end was reported." })
  connectTime!: string;
  @Field(() => String, { nullable: true, description: "IP address of the client, if reported." }) ip!: string | null;
  @Field(() => UUID, { description: "ID of the workspace, which may have been deleted." }) workspaceId!: string;
  @Field({ description: "Name of the workspace at the time of the connection." }) workspaceName!: string;
  @Field({ description: "Name of the workspace agent that accepted the connection." }) agentName!: string;
}

@ObjectType("ConnectionLogConnection", { description: "A page of connection log entries." })
class ConnectionLogConnection extends connectionOf("ConnectionLog", () => ConnectionLogType) {
  @Field(() => Int, {
    description: "Largest exact total. A total of one more means that there are more entries.",
  })
  countCap(): number {
    return countCap;
  }
}

orderType("ConnectionLog", ConnectionLogOrder, {
  CONNECT_TIME: "By the start of the connection.",
});

const ConnectionLogsArgs = argumentsOf(ConnectionLogsQuery);

inputType("ConnectionEventInput", ConnectionEvent, {
  description: "A connection event reported by a workspace agent or a workspace proxy.",
});

const RecordConnectionsInput = inputType("RecordConnectionsInput", RecordConnections);

@Resolver(() => ConnectionLogType)
export class ConnectionLogsResolver {
  @FieldResolver(() => OrganizationType, { description: "Organization of the workspace." })
  organization(
    @Root() { organizationId }: ConnectionLogRow,
    @Ctx() ctx: Context,
  ): Promise<OrganizationRow | undefined> {
    return ctx.load(organizationsById, organizationId);
  }

  @FieldResolver(() => PublicUserType, { description: "Owner of the workspace at the time of the connection." })
  workspaceOwner(@Root() { workspaceOwnerId }: ConnectionLogRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, workspaceOwnerId);
  }

  @FieldResolver(() => ConnectionSshInfoType, { nullable: true, description: "Details of a session; null for visits." })
  sshInfo(@Root() row: ConnectionLogRow): ConnectionLogRow | null {
    return row.connectionId === null ? null : row;
  }

  @FieldResolver(() => ConnectionWebInfoType, { nullable: true, description: "Details of a visit; null for sessions." })
  webInfo(@Root() row: ConnectionLogRow): ConnectionLogRow | null {
    return row.slugOrPort === null ? null : row;
  }

  @Access({ needs: ["connection_log:read"] })
  @Query(() => ConnectionLogConnection, {
    description: "Lists the connections to workspaces that the caller may read, by default newest first.",
  })
  connectionLogs(
    @Args(() => ConnectionLogsArgs) { q, orderBy, ...page }: ConnectionLogsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<ConnectionLogRow>> {
    return listConnectionLogs(ctx, q, page, orderBy);
  }

  @Access({ openTo: ["agent", "proxy"] })
  @Mutates("Records connection events. For workspace agents and workspace proxies.", {
    recorded: { type: () => Int, description: "Number of events recorded." },
    skipped: { type: () => Int, description: "Number of events skipped because they were already known." },
  })
  recordConnections(
    @Arg("input", () => RecordConnectionsInput, { description: "The events." }) { events }: RecordConnections,
    @Ctx() ctx: Context,
  ): Promise<RecordedConnections> {
    return recordConnections(ctx, events);
  }
}

@Resolver(() => ConnectionWebInfoType)
export class ConnectionWebInfoResolver {
  @FieldResolver(() => PublicUserType, { nullable: true, description: "The visitor; null if anonymous." })
  user(@Root() { userId }: ConnectionLogRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return userId === null ? null : ctx.load(usersById, userId);
  }
}
