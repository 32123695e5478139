import { Ctx, Field, FieldResolver, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { GroupRow } from "../../domain/groups/groups.js";
import {
  type ScimGroupLink,
  scimLinksOfGroup,
  scimLinksOfUser,
  type ScimUserLink,
} from "../../domain/scim/scim-links.js";
import type { UserRow } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { DateTime, JSONObject } from "../engine/scalars.js";
import { GroupType } from "../groups/groups.js";
import { UserType } from "../users/users.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("ScimUserAttributes", {
  simpleResolvers: true,
  description: "The attributes of a user at an identity provider.",
})
class ScimUserAttributesType implements Omit<ScimUserLink, "userId"> {
  @Field({ description: "Label of the identity provider." }) source!: string;
  @Field(() => String, { nullable: true, description: "ID of the user at the identity provider." })
  externalId!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "The userName as the identity provider wrote it; null if another one manages it.",
  })
  userName!: string | null;
  @Field(() => JSONObject, { description: "The other SCIM attributes, by their names." })
  attributes!: Record<string, unknown>;
  @Field(() => DateTime, {
    nullable: true,
    description:
      "When the identity provider suspended the user; null unless it did, and the user was not activated since.",
  })
  suspendedAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the identity provider deleted the user; null unless it did.",
  })
  deprovisionedAt!: string | null;
}

@Access({ readWith: "group:read" })
@ObjectType("ScimGroupAttributes", {
  simpleResolvers: true,
  description: "The attributes of a group at an identity provider.",
})
class ScimGroupAttributesType implements Omit<ScimGroupLink, "groupId"> {
  @Field({ description: "Label of the identity provider." }) source!: string;
  @Field(() => String, { nullable: true, description: "ID of the group at the identity provider." })
  externalId!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "The displayName as the identity provider wrote it; null if it has changed elsewhere since.",
  })
  displayName!: string | null;
}

@Resolver(() => UserType)
export class ScimUserLinksResolver {
  @Access({ needs: ["user:read_personal"], countsAs: 2 })
  @FieldResolver(() => [ScimUserAttributesType], {
    description:
      "The attributes of the user at identity providers, by source. Empty unless the caller may read personal details.",
  })
  scim(@Root() user: UserRow, @Ctx() ctx: Context): Promise<ScimUserLink[]> {
    return scimLinksOfUser(ctx, user);
  }
}

@Resolver(() => GroupType)
export class ScimGroupLinksResolver {
  @Access({ countsAs: 2 })
  @FieldResolver(() => [ScimGroupAttributesType], {
    description: "The attributes of the group at identity providers, by source.",
  })
  scim(@Root() group: GroupRow, @Ctx() ctx: Context): Promise<ScimGroupLink[]> {
    return scimLinksOfGroup(ctx, group);
  }
}
