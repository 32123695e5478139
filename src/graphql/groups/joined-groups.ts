import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type GroupRow, groupsOf } from "../../domain/groups/groups.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import type { UserRow } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { PageArgs } from "../engine/lists.js";
import { UserType } from "../users/users.js";
import { GroupConnection } from "./groups.js";

@Resolver(() => UserType)
export class JoinedGroupsResolver {
  @Access({ needs: ["group:read", "group_member:read"] })
  @FieldResolver(() => GroupConnection, {
    description:
      "Groups of the user that the caller may read, `Everyone` groups included, by organization name, group name, and ID.",
  })
  groups(
    @Root() user: UserRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<GroupRow>> {
    return groupsOf(ctx, user, page);
  }
}
