import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import type { OrganizationRow } from "../../domain/organizations/organizations.js";
import type { TemplateRow } from "../../domain/templates/templates.js";
import type { UserRow } from "../../domain/users/users.js";
import {
  workspacesOfOrganization,
  workspacesOfTemplate,
  workspacesOfUser,
} from "../../domain/workspaces/workspace-list.js";
import type { WorkspaceRow } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { PageArgs } from "../engine/lists.js";
import { OrganizationType } from "../organizations/organizations.js";
import { TemplateType } from "../templates/templates.js";
import { UserType } from "../users/users.js";
import { WorkspaceConnection } from "./workspaces.js";

@Resolver(() => UserType)
export class WorkspacesOfUsersResolver {
  @Access({ needs: ["workspace:read"] })
  @FieldResolver(() => WorkspaceConnection, {
    description: "Workspaces of the user that the caller may read, the most recently used first.",
  })
  workspaces(
    @Root() user: UserRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<WorkspaceRow>> {
    return workspacesOfUser(ctx, user, page);
  }
}

@Resolver(() => OrganizationType)
export class WorkspacesOfOrganizationsResolver {
  @Access({ needs: ["workspace:read"] })
  @FieldResolver(() => WorkspaceConnection, {
    description: "Workspaces of the organization that the caller may read, the most recently used first.",
  })
  workspaces(
    @Root() organization: OrganizationRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<WorkspaceRow>> {
    return workspacesOfOrganization(ctx, organization, page);
  }
}

@Resolver(() => TemplateType)
export class WorkspacesOfTemplatesResolver {
  @Access({ needs: ["workspace:read"] })
  @FieldResolver(() => WorkspaceConnection, {
    description: "Workspaces of the template that the caller may read, the most recently used first.",
  })
  workspaces(
    @Root() template: TemplateRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<WorkspaceRow>> {
    return workspacesOfTemplate(ctx, template, page);
  }
}
