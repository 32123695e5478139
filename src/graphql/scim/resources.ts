import { Arg, Args, Ctx, Field, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { readScimGroup } from "../../domain/scim/scim-groups.js";
import { ListQuery } from "../../domain/scim/scim-lists.js";
import { Projection } from "../../domain/scim/projection.js";
import {
  accountOf,
  documentOf,
  isNewer,
  listDocument,
  listGroups,
  listUsers,
  type ScimPage,
  type ScimResource,
  searchResources,
  selectionOf,
  urlOf,
  versionOf,
} from "../../domain/scim/resources.js";
import { readScimUser } from "../../domain/scim/scim-users.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { JSONObject, Url, UUID } from "../engine/scalars.js";
import { UserType } from "../users/users.js";
import { argumentsOf } from "../engine/inputs.js";

/** Accepts SCIM keys, and the sessions and API keys of users with all scopes. */
export const forProvisioning: AccessOptions = { needs: ["all"], openTo: ["session", "token", "scim_key"] };

const ProjectionArgs = argumentsOf(Projection);

const ListArgs = argumentsOf(ListQuery);

@Access({ readWith: "user:read" })
@ObjectType("ScimResource", { description: "A user or a group as SCIM clients see it." })
export class ScimResourceType {
  @Field(() => UUID, { description: "Unique ID: that of the user or the group." })
  id(@Root() { row }: ScimResource): string {
    return row.id;
  }

  @Field(() => JSONObject, { description: "The resource in SCIM form (RFC 7643)." })
  document(
    @Root() resource: ScimResource,
    @Args(() => ProjectionArgs) projection: Projection,
    @Ctx() ctx: Context,
  ): Promise<Record<string, unknown>> {
    return documentOf(ctx, resource, projection);
  }

  @Field(() => JSONObject, {
    nullable: true,
    description: "The same, if attributes to return or to leave out are named; null otherwise.",
  })
  selection(
    @Root() resource: ScimResource,
    @Args(() => ProjectionArgs) projection: Projection,
    @Ctx() ctx: Context,
  ): Promise<Record<string, unknown> | null> {
    return selectionOf(ctx, resource, projection);
  }

  @Field(() => String, { description: "Version of the resource: its ETag." })
  version(@Root() resource: ScimResource): string {
    return versionOf(resource);
  }

  @Field(() => Boolean, { description: "Whether the version differs from all versions that a client has." })
  isNewer(
    @Root() resource: ScimResource,
    @Arg("than", () => String, { nullable: true, description: "ETags separated by commas, or `*`. Default: none." })
    than: string | undefined,
  ): boolean {
    return isNewer(resource, than);
  }

  @Field(() => Url, { description: "URL of the resource." })
  location(@Root() resource: ScimResource, @Ctx() ctx: Context): string {
    return urlOf(ctx, resource);
  }

  @Field(() => UserType, { nullable: true, description: "The account; null for groups." })
  user(@Root() resource: ScimResource, @Ctx() ctx: Context) {
    return accountOf(ctx, resource);
  }
}

@Access({ readWith: "user:read" })
@ObjectType("ScimListResult", { description: "A page of SCIM resources." })
export class ScimListResultType {
  @Field(() => Int, { description: "Number of resources that match, on all pages together.", simple: true })
  totalResults!: number;
  @Field(() => Int, {
    nullable: true,
    description: "Position of the first resource; null for pages by cursor.",
    simple: true,
  })
  startIndex?: number;
  @Field({ nullable: true, description: "Cursor of the next page, if there is one.", simple: true })
  nextCursor?: string;

  @Access({ countsAs: 1000 })
  @Field(() => [ScimResourceType], { description: "The resources of this page.", simple: true })
  resources!: ScimResource[];

  @Field(() => JSONObject, { description: "The page in SCIM form: a ListResponse." })
  document(
    @Root() page: ScimPage,
    @Args(() => ProjectionArgs) projection: Projection,
    @Ctx() ctx: Context,
  ): Promise<Record<string, unknown>> {
    return listDocument(ctx, page, projection);
  }
}

@Resolver()
export class ScimResourcesResolver {
  @Access(forProvisioning)
  @Query(() => ScimResourceType, { nullable: true, description: "Returns a user as SCIM clients see it." })
  async scimUser(
    @Arg("id", { description: "ID of the user." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<ScimResource> {
    return { kind: "User", row: await readScimUser(ctx, id) };
  }

  @Access(forProvisioning)
  @Query(() => ScimResourceType, { nullable: true, description: "Returns a group as SCIM clients see it." })
  async scimGroup(
    @Arg("id", { description: "ID of the group." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<ScimResource> {
    return { kind: "Group", row: await readScimGroup(ctx, id) };
  }

  @Access(forProvisioning)
  @Query(() => ScimListResultType, {
    description: "Lists users for SCIM clients, except those that the source of the caller has deleted.",
  })
  scimUsers(@Args(() => ListArgs) query: ListQuery, @Ctx() ctx: Context): Promise<ScimPage> {
    return listUsers(ctx, query);
  }

  @Access(forProvisioning)
  @Query(() => ScimListResultType, {
    description: "Lists the groups of the caller's organizations for SCIM clients, except `Everyone`.",
  })
  scimGroups(@Args(() => ListArgs) query: ListQuery, @Ctx() ctx: Context): Promise<ScimPage> {
    return listGroups(ctx, query);
  }

  @Access(forProvisioning)
  @Query(() => ScimListResultType, {
    description: "Lists users, then groups, for SCIM clients. Filters use the attributes that both have.",
  })
  scimResources(@Args(() => ListArgs) query: ListQuery, @Ctx() ctx: Context): Promise<ScimPage> {
    return searchResources(ctx, query);
  }
}
