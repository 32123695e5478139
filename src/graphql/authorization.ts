import { Arg, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type AuthCheck,
  type CheckedObject,
  checkPermissions,
  type PermissionCheck,
} from "../domain/auth-checks/auth-checks.js";
import { scopeCatalog } from "../domain/authorization/authorization.js";
import { Access } from "./engine/access.js";

@ObjectType({ simpleResolvers: true, description: "The scopes that credentials can be restricted to." })
export class AuthScopes {
  @Field(() => [String], { description: "Scopes that API tokens can be created with, in byte order." })
  external!: readonly string[];
}

@InputType({
  description: "The object of a permission check: a stored object by its ID, or any object with the given attributes.",
})
export class AuthCheckObjectInput implements CheckedObject {
  @Field({ description: "Type of the object, such as `group` or `workspace`." })
  resourceType!: string;
  @Field({
    nullable: true,
    description: "ID of a stored object. If given, the attributes below are ignored.",
  })
  resourceId?: string;
  @Field({ nullable: true, description: "Owner of the object: a user ID or `me`." }) ownerId?: string;
  @Field({ nullable: true, description: "Organization of the object: an ID, a name, or `default`." })
  organizationId?: string;
  @Field({
    nullable: true,
    description:
      "Whether to match an object in any of the caller's organizations. Ignored if `organizationId` is given.",
  })
  anyOrg?: boolean;
}

@InputType({ description: "A permission check: whether the caller may perform an action on an object." })
@Access({ entryKey: "key" })
export class AuthCheckInput implements AuthCheck {
  @Field({
    description: "Name of the check, unique within the request, 1 to 200 characters. Returned with the result.",
  })
  key!: string;
  @Field({ description: "The action, such as `read` or `update`." })
  action!: string;
  @Field({ description: "The object." })
  object!: AuthCheckObjectInput;
}

@ObjectType({ simpleResolvers: true, description: "The result of a permission check." })
@Access({ entryKey: "key" })
export class PermissionCheckResult implements PermissionCheck {
  @Field({ description: "Name of the check." }) key!: string;
  @Field({
    description:
      "Whether the caller may perform the action. False for unknown actions and for missing or unreadable objects.",
  })
  allowed!: boolean;
}

@Resolver()
export class AuthorizationResolver {
  @Query(() => AuthScopes, {
    description: "Returns the scopes that credentials can be restricted to. Requires no authentication.",
  })
  @Access({ open: true })
  authScopes(): AuthScopes {
    return { external: scopeCatalog };
  }

  @Access({ anyScope: true, countsAs: { argument: "checks" } })
  @Query(() => [PermissionCheckResult], {
    description:
      "Checks up to 500 permissions of the caller in one request, at most 10 of them on stored objects by ID.",
  })
  authCheck(
    @Arg("checks", () => [AuthCheckInput], { description: "The checks." }) checks: AuthCheckInput[],
    @Ctx() ctx: Context,
  ) {
    return checkPermissions(ctx, checks);
  }
}
