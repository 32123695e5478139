import { Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  AuthCheck,
  AuthChecks,
  CheckedObject,
  checkPermissions,
  type PermissionCheck,
} from "../domain/auth-checks/auth-checks.js";
import { scopeCatalog } from "../domain/authorization/authorization.js";
import { Access } from "./engine/access.js";
import { argumentsOf, inputType } from "./engine/inputs.js";

@ObjectType({ simpleResolvers: true, description: "The scopes that credentials can be restricted to." })
export class AuthScopes {
  @Field(() => [String], { description: "Scopes that API tokens can be created with, in byte order." })
  external!: readonly string[];
}

export const AuthCheckObjectInput = inputType("AuthCheckObjectInput", CheckedObject, {
  description: "The object of a permission check: a stored object by its ID, or any object with the given attributes.",
});

export const AuthCheckInput = inputType("AuthCheckInput", AuthCheck, {
  description: "A permission check: whether the caller may perform an action on an object.",
  entryKey: "key",
});

const AuthChecksArgs = argumentsOf(AuthChecks);

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
  authCheck(@Args(() => AuthChecksArgs) { checks }: AuthChecks, @Ctx() ctx: Context) {
    return checkPermissions(ctx, checks);
  }
}
