import { Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type AiSpender,
  mostSpenders,
  type OrganizationAiSpend,
  readOrganizationAiSpend,
  SpendingOrganization,
} from "../../domain/groups/organization-spending.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { argumentsOf } from "../engine/inputs.js";
import { BigInt, DateTime } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";

@Access({ readWith: "group_ai_budget:read" })
@ObjectType("AiSpender", {
  simpleResolvers: true,
  description: "AI spending of a user of an organization in the current calendar month (UTC), and its limit.",
})
class AiSpenderType implements Omit<AiSpender, "userId"> {
  userId!: string;
  @Field(() => BigInt, { description: "Amount spent so far, in millionths of the deployment's currency." })
  spentMicros!: number;
  @Field(() => BigInt, {
    nullable: true,
    description:
      "Highest AI budget among the user's groups, in millionths of the deployment's currency; null if unlimited.",
  })
  limitMicros!: number | null;
}

@Access({ readWith: "group_ai_budget:read" })
@ObjectType("OrganizationAiSpend", {
  simpleResolvers: true,
  description:
    "AI spending of all users of an organization in the current calendar month (UTC), against their budgets.",
})
class OrganizationAiSpendType implements OrganizationAiSpend {
  @Field(() => BigInt, { description: "Amount spent so far, in millionths of the deployment's currency." })
  spentMicros!: number;
  @Field(() => Int, { description: "Number of users who spent something." }) spenderCount!: number;
  @Field(() => Int, {
    description: "Number of users who have spent their budget: their tasks wait for the next month.",
  })
  exhaustedCount!: number;
  @Field(() => DateTime, { description: "Start of the current month." }) periodStart!: string;
  @Field(() => DateTime, { description: "Start of the next month." }) periodEnd!: string;
  @Access({ countsAs: mostSpenders })
  @Field(() => [AiSpenderType], { description: "Those who spent the most, in this order, at most 5." })
  spenders!: AiSpender[];
}

const OrganizationAiSpendArgs = argumentsOf(SpendingOrganization);

@Resolver(() => AiSpenderType)
export class OrganizationSpendingResolver {
  @Access({ needs: ["group_ai_budget:read"] })
  @Query(() => OrganizationAiSpendType, {
    nullable: true,
    description: "Returns the AI spending of an organization. Requires permission to read AI budgets.",
  })
  organizationAiSpend(
    @Args(() => OrganizationAiSpendArgs) args: SpendingOrganization,
    @Ctx() ctx: Context,
  ): Promise<OrganizationAiSpend> {
    return readOrganizationAiSpend(ctx, args);
  }

  @FieldResolver(() => PublicUserType, { description: "The user." })
  user(@Root() { userId }: AiSpender, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, userId);
  }
}
