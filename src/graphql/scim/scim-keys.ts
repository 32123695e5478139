import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import type { OrganizationRow } from "../../domain/organizations/organizations.js";
import {
  createScimKey,
  listScimKeys,
  organizationsOfKey,
  revokeScimKey,
  type ScimKeyRow,
  scimKeysByIds,
  updateScimKey,
  CreateScimKey,
  RevokeScimKey,
  UpdateScimKey,
} from "../../domain/scim/scim-keys.js";
import { listScimRequests, type ScimRequestRow, ScimRequestsQuery } from "../../domain/scim/scim-requests.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { connectionOf, PageArgs } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { OrganizationType } from "../organizations/organizations.js";
import { PublicUserType } from "../users/users.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

@Access({ readWith: "scim_key:read", references: ["id", "name"] })
@ObjectType("ScimKey", {
  simpleResolvers: true,
  description: "A key with which an identity provider manages users and groups by SCIM. Its secret is never returned.",
})
class ScimKeyType implements Omit<ScimKeyRow, "organizationIds" | "createdBy"> {
  @Field({ description: "Unique ID: the public part of the key." }) id!: string;
  @Field({ description: "Name given by an administrator." }) name!: string;
  @Field({
    description: "Label of the identity provider. Keys of one source share what it knows about users and groups.",
  })
  source!: string;
  @Field(() => DateTime, { description: "When the key was created." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When the key expires; null for never." })
  expiresAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the key was last used, accurate to 5 minutes; null if never.",
  })
  lastUsedAt!: string | null;
  @Field(() => String, { nullable: true, description: "IP address of that use." }) lastUsedIp!: string | null;
}

const CreateScimKeyInput = inputType("CreateScimKeyInput", CreateScimKey);

const UpdateScimKeyInput = inputType("UpdateScimKeyInput", UpdateScimKey, {
  description: "Input of `updateScimKey`. Omitted fields keep their value.",
});

const RevokeScimKeyInput = inputType("RevokeScimKeyInput", RevokeScimKey);

const changedKey = {
  scimKey: { type: () => ScimKeyType, description: "The key after the change.", covers: "everything" },
} as const;

/** The payload of a mutation that leaves a key behind, which is read if selected. */
const readChangedKey = (ctx: Context, id: string) => ({ scimKey: () => ctx.load(scimKeysByIds, id) });

const ScimKeyConnection = connectionOf("ScimKey", () => ScimKeyType);

@Access({ readWith: "scim_key:read" })
@ObjectType("ScimRequest", {
  simpleResolvers: true,
  description:
    "A request of an identity provider that failed. Successful ones are not kept: the audit log has what they changed.",
})
class ScimRequestType implements ScimRequestRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When the request failed." }) time!: string;
  @Field({ description: "Method of HTTP." }) method!: string;
  @Field({
    description:
      "Path with its query, decoded, cut to 512 characters. `…` stands for what may be a secret, such as tokens and parameters that SCIM does not have.",
  })
  path!: string;
  @Field(() => Int, { description: "Status of the response: 400 or more." }) status!: number;
  @Field(() => String, { nullable: true, description: "Kind of the error (RFC 7644 §3.12), if there is one." })
  scimType!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "Reason in the response, cut to 512 characters. Null if it may quote a secret.",
  })
  detail!: string | null;
  @Field({ description: "ID of the request, as in its `X-Request-Id` and in the log of the server." })
  requestId!: string;
}

const ScimRequestConnection = connectionOf("ScimRequest", () => ScimRequestType);

const ScimRequestsArgs = argumentsOf(ScimRequestsQuery);

@Resolver(() => ScimKeyType)
export class ScimKeysResolver {
  @Access({ needs: ["scim_key:read"] })
  @Query(() => ScimKeyConnection, { description: "Lists all SCIM keys, oldest first. Requires the owner role." })
  scimKeys(@Args(() => PageArgs) page: PageArguments, @Ctx() ctx: Context): Promise<Page<ScimKeyRow>> {
    return listScimKeys(ctx, page);
  }

  @Access({ needs: ["scim_key:read"] })
  @Query(() => ScimRequestConnection, {
    description:
      "Lists the requests of a SCIM key that failed, newest first: at most the newest 1,000 of the last 30 days. A request appears seconds after its response. Requires the owner role.",
  })
  scimRequests(
    @Args(() => ScimRequestsArgs) query: ScimRequestsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<ScimRequestRow>> {
    return listScimRequests(ctx, query);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [OrganizationType], {
    description: "The organizations whose groups the key manages, the one of new groups first.",
  })
  organizations(@Root() key: ScimKeyRow, @Ctx() ctx: Context): Promise<OrganizationRow[]> {
    return organizationsOfKey(ctx, key);
  }

  @FieldResolver(() => PublicUserType, { nullable: true, description: "Who created the key." })
  createdBy(@Root() { createdBy }: ScimKeyRow, @Ctx() ctx: Context) {
    return createdBy === null ? null : ctx.load(usersById, createdBy);
  }

  @Access({ needs: ["scim_key:create"], openTo: ["session", "token"] })
  @Mutates("Creates a SCIM key. Several keys of a source may exist at the same time. Requires the owner role.", {
    ...changedKey,
    secret: { type: () => String, description: "The key that the identity provider sends. Returned only once." },
  })
  async createScimKey(
    @Arg("input", () => CreateScimKeyInput, { description: "The new key." }) input: CreateScimKey,
    @Ctx() ctx: Context,
  ) {
    const { id, secret } = await createScimKey(ctx, input);
    return { ...readChangedKey(ctx, id), secret };
  }

  @Access({ needs: ["scim_key:create"], openTo: ["session", "token"] })
  @Mutates("Changes the name or the expiry of a SCIM key. Requires the owner role.", changedKey)
  async updateScimKey(
    @Arg("input", () => UpdateScimKeyInput, { description: "The changes." }) input: UpdateScimKey,
    @Ctx() ctx: Context,
  ) {
    return readChangedKey(ctx, await updateScimKey(ctx, input));
  }

  @Access({ needs: ["scim_key:delete"], openTo: ["session", "token"] })
  @Mutates("Revokes a SCIM key immediately. Users and groups that it provisioned stay. Requires the owner role.", {
    scimKey: { type: () => ScimKeyType, description: "The revoked key.", covers: "everything" },
  })
  async revokeScimKey(
    @Arg("input", () => RevokeScimKeyInput, { description: "The key to revoke." }) { id }: RevokeScimKey,
    @Ctx() ctx: Context,
  ) {
    return { scimKey: await revokeScimKey(ctx, id) };
  }
}
