import { Arg, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type AuthCheck,
  type CheckedObject,
  checkPermissions,
  type PermissionCheck,
} from "../domain/auth-checks/auth-checks.js";
import { scopeCatalogue } from "../domain/authorization/authorization.js";
import { AnyScope, CountsAs, EntryKey, Open } from "./engine/access.js";

@ObjectType({ simpleResolvers: true, description: "The scopes there are." })
export class AuthScopes {
  @Field(() => [String], { description: "Those that keys can be given, in byte order." }) external!: readonly string[];
}

@InputType({ description: "One stored object by its id, or any object with these traits." })
export class AuthCheckObjectInput implements CheckedObject {
  @Field(() => String, { nullable: true, description: "Required. The kind of object: `group`, `workspace`." })
  resourceType?: string;
  @Field(() => String, {
    nullable: true,
    description: "The id of a stored object; the traits below do not count then.",
  })
  resourceId?: string;
  @Field(() => String, { nullable: true, description: "Whose it is: the id of a user, or `me`." }) ownerId?: string;
  @Field(() => String, { nullable: true, description: "Where it is: id or name of an organisation, or `default`." })
  organizationId?: string;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether any one of the caller's organisations will do. Does not count with `organizationId`.",
  })
  anyOrg?: boolean;
}

@InputType({ description: "A question: may the caller do this to an object like that?" })
@EntryKey("key")
export class AuthCheckInput implements AuthCheck {
  @Field(() => String, { description: "What to call the question: 1 to 200 characters." }) key!: string;
  @Field(() => String, { nullable: true, description: "Required. What to do: `read`, `update`." }) action?: string;
  @Field(() => AuthCheckObjectInput, { nullable: true, description: "Required. The object." })
  object?: AuthCheckObjectInput;
}

@ObjectType({ simpleResolvers: true, description: "The answer to a question." })
@EntryKey("key")
export class PermissionCheckResult implements PermissionCheck {
  @Field(() => String, { description: "What the caller called the question." }) key!: string;
  @Field(() => Boolean, { description: "Whether the caller may." }) allowed!: boolean;
}

@Resolver()
export class AuthorizationResolver {
  @Query(() => AuthScopes, { description: "What credentials can be narrowed to." })
  @Open()
  authScopes(): AuthScopes {
    return { external: scopeCatalogue };
  }

  @AnyScope()
  @CountsAs({ argument: "checks" })
  @Query(() => [PermissionCheckResult], {
    description: "Answers up to 500 questions about what the caller may do, at most 10 of them about objects by id.",
  })
  authCheck(
    @Arg("checks", () => [AuthCheckInput], { description: "The questions." }) checks: AuthCheckInput[],
    @Ctx() ctx: Context,
  ) {
    return checkPermissions(ctx, checks);
  }
}
