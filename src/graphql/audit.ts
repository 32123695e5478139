import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Int,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { AuditAction, type Diff } from "../domain/audit/audit.js";
import { type AuditEventFilter, type AuditEventRow, listAuditEvents } from "../domain/audit/log.js";
import type { Page } from "../domain/kernel/page.js";
import { type UserRow, usersById } from "../domain/users/users.js";
import { Needs, ReadWith } from "./engine/access.js";
import { connectionOf } from "./engine/connections.js";
import { DateTime, JSONObject, UUID } from "./engine/scalars.js";
import { PublicUserType } from "./users/users.js";

registerEnumType(AuditAction, {
  name: "AuditAction",
  description: "What can happen to a resource.",
  valuesConfig: {
    CREATE: { description: "It was made." },
    UPDATE: { description: "It was changed." },
    DELETE: { description: "It was deleted." },
    START: { description: "It was started." },
    STOP: { description: "It was stopped." },
    LOGIN: { description: "A user signed in." },
    LOGIN_FAILED: { description: "Somebody failed to sign in as a user." },
    LOGOUT: { description: "A user signed out." },
    DELIVER: { description: "It was handed over to a machine." },
    AUTHORIZE: { description: "Access was granted to it." },
    DENY: { description: "Access was refused to it." },
    REVOKE: { description: "It was withdrawn." },
  },
});

@ReadWith("audit_log:read")
@ObjectType("AuditEvent", { simpleResolvers: true, description: "Who did what to what, and when." })
class AuditEventType implements AuditEventRow {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => DateTime, { description: "When it happened." }) time!: string;
  @Field(() => UUID, { nullable: true, description: "The user who acted; none for machines." }) actorId!: string | null;
  @Field(() => String, { nullable: true, description: "What that user is called today." }) actorUsername!:
    | string
    | null;
  @Field(() => String, {
    description: "What kind of caller acted: user, agent, provisioner, proxy, scim_key, oauth_client or system.",
  })
  actorKind!: string;
  @Field(() => String, { nullable: true, description: "The id of the key that the caller came with." }) apiKeyId!:
    | string
    | null;
  @Field(() => AuditAction, { description: "What happened." }) action!: AuditAction;
  @Field(() => String, { description: "The kind of what it happened to." }) resourceType!: string;
  @Field(() => String, { nullable: true, description: "The id of what it happened to." }) resourceId!: string | null;
  @Field(() => String, { nullable: true, description: "What it was called." }) resourceLabel!: string | null;
  @Field(() => UUID, { nullable: true, description: "The organisation it lies in." }) organizationId!: string | null;
  @Field(() => JSONObject, { description: "Old and new values by field; secret ones as `***`." }) diff!: Diff;
  @Field(() => String, { description: "The id of the request." }) requestId!: string;
  @Field(() => String, { nullable: true, description: "The caller's address." }) ip!: string | null;
  @Field(() => String, { nullable: true, description: "What the caller's program calls itself." }) userAgent!:
    | string
    | null;
}

const AuditEventConnection = connectionOf("AuditEvent", () => AuditEventType);

@InputType("AuditEventFilter", { description: "Which events are wanted. What is absent does not narrow." })
class AuditEventFilterInput implements AuditEventFilter {
  @Field(() => String, { nullable: true, description: "The user who acted: id, username or `me`." }) actor?: string;
  @Field(() => AuditAction, { nullable: true, description: "What happened." }) action?: AuditAction;
  @Field(() => String, { nullable: true, description: "The kind of what it happened to." }) resourceType?: string;
  @Field(() => String, { nullable: true, description: "The id of what it happened to." }) resourceId?: string;
  @Field(() => String, { nullable: true, description: "The organisation: id, name or `default`." })
  organization?: string;
  @Field(() => DateTime, { nullable: true, description: "It happened then or later." }) after?: string;
  @Field(() => DateTime, { nullable: true, description: "It happened then or earlier." }) before?: string;
}

@Resolver(() => AuditEventType)
export class AuditResolver {
  @FieldResolver(() => PublicUserType, { nullable: true, description: "The user who acted; none for machines." })
  actor(@Root() { actorId }: AuditEventRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return actorId === null ? null : ctx.load(usersById, actorId);
  }

  @Needs("audit_log:read")
  @Query(() => AuditEventConnection, { description: "What happened, as far as the caller may know, newest first." })
  auditEvents(
    @Arg("filter", () => AuditEventFilterInput, { nullable: true, description: "Which events are wanted." })
    filter: AuditEventFilter | undefined,
    @Arg("first", () => Int, { nullable: true, description: "How many events, at most 1000. Default: 100." })
    first: number | undefined,
    @Arg("after", () => String, { nullable: true, description: "Begin behind this cursor or id." }) after:
      | string
      | undefined,
    @Ctx() ctx: Context,
  ): Promise<Page<AuditEventRow>> {
    return listAuditEvents(ctx, filter ?? {}, { first, after });
  }
}
