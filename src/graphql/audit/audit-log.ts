import { Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { AuditAction, type Diff } from "../../domain/kernel/audit.js";
import {
  AuditEventFilter,
  AuditEventOrder,
  type AuditEventRow,
  AuditEventsQuery,
  listAuditEvents,
} from "../../domain/audit/audit-log.js";
import { countDaily, type CountedDays, countedDays, DaysAndPlace } from "../../domain/audit/daily-counts.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { DateTime, JSONObject, UUID } from "../engine/scalars.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { PublicUserType } from "../users/users.js";

enumType({ AuditAction }, "The kind of an action on a resource.", {
  CREATE: "The resource was created.",
  UPDATE: "The resource was updated.",
  DELETE: "The resource was deleted.",
  START: "The resource was started.",
  STOP: "The resource was stopped.",
  LOGIN: "A user signed in.",
  LOGIN_FAILED: "An attempt to sign in as a user failed.",
  LOGOUT: "A user signed out.",
  DELIVER: "The resource was delivered to a machine.",
  AUTHORIZE: "Access to the resource was granted.",
  DENY: "Access to the resource was denied.",
  REVOKE: "The resource was revoked.",
});

@Access({ readWith: "audit_log:read" })
@ObjectType("AuditEvent", {
  simpleResolvers: true,
  description: "An entry of the audit log: an action, its actor, and the resource it affected.",
})
export class AuditEventType implements AuditEventRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When the action happened." }) time!: string;
  @Field(() => UUID, {
    nullable: true,
    description: "ID of the user who acted; null if a machine or the system acted.",
  })
  actorId!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "Username that the user who acted had then; null if a machine or the system acted.",
  })
  actorUsername!: string | null;
  @Field({
    description: "Kind of actor: `user`, `agent`, `provisioner`, `proxy`, `scim_key`, `oauth_client`, or `system`.",
  })
  actorKind!: string;
  @Field(() => String, { nullable: true, description: "ID of the session or API key that authenticated the request." })
  apiKeyId!: string | null;
  @Field(() => AuditAction, { description: "The action." }) action!: AuditAction;
  @Field({ description: "Type of the affected resource." }) resourceType!: string;
  @Field(() => String, { nullable: true, description: "ID of the affected resource." }) resourceId!: string | null;
  @Field(() => String, { nullable: true, description: "Name of the affected resource when the action happened." })
  resourceLabel!: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the organization that the resource belongs to." })
  organizationId!: string | null;
  @Field(() => JSONObject, { description: "Old and new values by field. Secret values are shown as `***`." })
  diff!: Diff;
  @Field({ description: "ID of the request." }) requestId!: string;
  @Field(() => String, { nullable: true, description: "IP address of the client." }) ip!: string | null;
  @Field(() => String, { nullable: true, description: "User-Agent header of the client." }) userAgent!: string | null;
}

const AuditEventConnection = connectionOf("AuditEvent", () => AuditEventType, { most: mostCounted });

orderType("AuditEvent", AuditEventOrder, { TIME: "By time." });

export const AuditEventFilterInput = inputType("AuditEventFilter", AuditEventFilter, {
  description: "Criteria for filtering audit events. An event must match all given fields.",
});

const AuditEventsArgs = argumentsOf(AuditEventsQuery);

@Resolver(() => AuditEventType)
export class AuditResolver {
  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description: "User who acted; null if a machine or the system acted.",
  })
  actor(@Root() { actorId }: AuditEventRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return actorId === null ? null : ctx.load(usersById, actorId);
  }

  @Access({ needs: ["audit_log:read"] })
  @Query(() => AuditEventConnection, {
    description: "Lists the audit events that the caller may read, by default newest first.",
  })
  auditEvents(
    @Args(() => AuditEventsArgs) { filter, orderBy, ...page }: AuditEventsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<AuditEventRow>> {
    return listAuditEvents(ctx, filter ?? {}, page, orderBy);
  }
}

const DailyCountsArgs = argumentsOf(DaysAndPlace);

@ObjectType("DailyCounts", {
  description:
    "Counts for each of some days, in the order of `days`. A series is null if the caller may not read what it counts. What was deleted since leaves the counts of the last twelve hours immediately, and older ones within six hours.",
})
class DailyCountsType implements CountedDays {
  @Field(() => [String], { description: "The days, such as `2026-01-31`. The last one is today, which is not over." })
  days!: string[];
  begins!: string[];
  organizationId!: string | undefined;
  liveSince!: string;
}

const counts = (description: string) => ({ nullable: true, description });

@Resolver(() => DailyCountsType)
export class DailyCountsResolver {
  @Access({ anyScope: true })
  @Query(() => DailyCountsType, {
    nullable: true,
    description: "Returns what happened on each of the last days, for charts.",
  })
  dailyCounts(@Args(() => DailyCountsArgs) args: DaysAndPlace, @Ctx() ctx: Context): Promise<CountedDays> {
    return countedDays(ctx, args);
  }

  @Access({ needs: ["user:read"], countsAs: 90 })
  @FieldResolver(
    () => [Int],
    counts("Users that were created, without those that are deleted. Null for one organization."),
  )
  createdUsers(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "createdUsers");
  }

  @Access({ needs: ["audit_log:read"], countsAs: 90 })
  @FieldResolver(() => [Int], counts("Sign-ins. Null for one organization."))
  signIns(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "signIns");
  }

  @Access({ needs: ["audit_log:read"], countsAs: 90 })
  @FieldResolver(() => [Int], counts("Attempts to sign in that failed. Null for one organization."))
  rejectedSignIns(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "rejectedSignIns");
  }

  @Access({ needs: ["provisioner_job:read"], countsAs: 90 })
  @FieldResolver(() => [Int], counts("Builds of workspaces, by their creation."))
  builds(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "builds");
  }

  @Access({ needs: ["provisioner_job:read"], countsAs: 90 })
  @FieldResolver(() => [Int], counts("Builds of workspaces that failed, by their creation."))
  failedBuilds(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "failedBuilds");
  }

  @Access({ needs: ["task:read"], countsAs: 90 })
  @FieldResolver(() => [Int], counts("Tasks that were created, without those that are deleted."))
  createdTasks(@Root() of: CountedDays, @Ctx() ctx: Context): Promise<number[] | null> {
    return countDaily(ctx, of, "createdTasks");
  }
}
