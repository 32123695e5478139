import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type OrganizationRow, organizationsOf } from "../../domain/organizations/organizations.js";
import type { UserRow } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { UserType } from "../users/users.js";
import { OrganizationType } from "./organizations.js";

@Resolver(() => UserType)
export class JoinedOrganizationsResolver {
  @Access({ needs: ["organization:read"], countsAs: 10 })
  @FieldResolver(() => [OrganizationType], {
    description: "Organizations of the user that the caller may read, in the order in which the user joined them.",
  })
  organizations(@Root() user: UserRow, @Ctx() ctx: Context): Promise<OrganizationRow[]> {
    return organizationsOf(ctx, user);
  }
}
