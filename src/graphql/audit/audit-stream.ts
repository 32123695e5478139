import { Args, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type AuditReaderRow, AuditReadersQuery, listAuditReaders } from "../../domain/audit/audit-readers.js";
import { type NumberedAuditEvent, WatchAuditLog, watchAuditLog } from "../../domain/audit/watch-audit-log.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access, watchedBy } from "../engine/access.js";
import { connectionOf } from "../engine/lists.js";
import { argumentsOf } from "../engine/inputs.js";
import { BigInt, DateTime, JSONObject, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { AuditEventType } from "./audit-log.js";

@Access({ readWith: "audit_log:read" })
@ObjectType("NumberedAuditEvent", {
  simpleResolvers: true,
  description: "An entry of the audit log with its number, which is given after the action was committed.",
})
class NumberedAuditEventType implements NumberedAuditEvent {
  @Field(() => BigInt, {
    description:
      "Higher than that of every event that was sent before. Numbers have no gaps, but for the events that the reader does not receive. After a restore of the database, they continue at the next multiple of 1,000,000,000.",
  })
  number!: number;
  @Field({ description: "Resumes after this event: for `since`." }) cursor!: string;
  @Field(() => AuditEventType, { description: "The event." }) event!: NumberedAuditEvent["event"];
}

@Access({ readWith: "audit_log:read" })
@ObjectType("AuditReader", {
  simpleResolvers: true,
  description: "Who receives the audit log as it is written, or did.",
})
class AuditReaderType implements AuditReaderRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  userId!: string;
  @Field({ description: "Username of the reader then." }) username!: string;
  @Field(() => String, { nullable: true, description: "ID of the session or API key that reads." })
  apiKeyId!: string | null;
  @Field(() => JSONObject, { description: "The filter of the reader." }) filter!: Record<string, unknown>;
  @Field(() => String, { nullable: true, description: "IP address of the reader." }) ip!: string | null;
  @Field(() => String, { nullable: true, description: "User-Agent header of the reader." }) userAgent!: string | null;
  @Field(() => BigInt, { description: "The number up to which all was sent, noted every 10 to 30 seconds." })
  position!: number;
  @Field(() => BigInt, { description: "How many events were numbered after the position." }) behind!: number;
  @Field({ description: "Whether the reader is connected." }) isActive!: boolean;
  @Field(() => DateTime, { description: "When the reader connected." }) startedAt!: string;
  @Field(() => DateTime, { description: "When the position was noted." }) seenAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When the reader disconnected; null if that was not noted." })
  endedAt!: string | null;
}

const AuditReaderConnection = connectionOf("AuditReader", () => AuditReaderType, { most: mostCounted });
const AuditReadersArgs = argumentsOf(AuditReadersQuery);
const WatchArgs = argumentsOf(WatchAuditLog);

@Resolver(() => AuditReaderType)
export class AuditStreamResolver {
  @FieldResolver(() => PublicUserType, { nullable: true, description: "The user who reads." })
  user(@Root() { userId }: AuditReaderRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, userId);
  }

  @Access({ needs: ["audit_log:read"] })
  @Query(() => AuditReaderConnection, {
    description:
      "Lists who receives the audit log as it is written, or did in the last 30 days, the latest first: all for auditors of the deployment, otherwise the caller's own.",
  })
  auditReaders(
    @Args(() => AuditReadersArgs) query: AuditReadersQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<AuditReaderRow>> {
    return listAuditReaders(ctx, query);
  }

  @Access({ needs: ["audit_log:read"] })
  @Subscription(() => NumberedAuditEventType, {
    description:
      "Streams the audit events that the caller may read, each once, in the order of their numbers. Ends when the caller may not read the log any more. At most 20 watches per user and server.",
    subscribe: watchedBy(watchAuditLog),
  })
  auditEventNumbered(
    @Root() event: NumberedAuditEvent,
    @Args(() => WatchArgs) _query: WatchAuditLog,
  ): NumberedAuditEvent {
    return event;
  }
}
