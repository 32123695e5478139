import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  aiBudgetOf,
  deleteGroupAiBudget,
  type GroupAiBudget,
  readGroupAiBudget,
  spendLimitRule,
  setGroupAiBudget,
} from "../../domain/groups/budgets.js";
import type { GroupRow } from "../../domain/groups/row.js";
import { readWorkspaceQuota, type WorkspaceQuota } from "../../domain/groups/quota.js";
import { type AiSpend, amountRule, readAiSpend, recordAiUsage } from "../../domain/groups/spending.js";
import { Covers, Needs, ReadWith, Rule } from "../engine/access.js";
import { GroupType } from "./groups.js";
import { BigInt, DateTime, UUID } from "../engine/scalars.js";

@ReadWith("group_ai_budget:read")
@ObjectType("GroupAiBudget", {
  simpleResolvers: true,
  description: "What every member of a group may spend on AI in a calendar month (UTC).",
})
export class GroupAiBudgetType implements GroupAiBudget {
  @Field(() => GroupType, { description: "Whose budget it is." }) group!: GroupAiBudget["group"];
  @Field(() => BigInt, { description: "Millionths of the deployment's currency." }) spendLimitMicros!: number;
  @Field(() => DateTime, { description: "When the group first got a budget." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the budget was last changed." }) updatedAt!: string;
}

@ReadWith("group_ai_budget:read")
@ObjectType("AiSpend", {
  simpleResolvers: true,
  description: "What a user may spend on AI in the current calendar month (UTC), and has spent.",
})
export class AiSpendType implements AiSpend {
  @Field(() => BigInt, {
    nullable: true,
    description: "The highest budget of the user's groups, in millionths of the currency; none is unlimited.",
  })
  limitMicros!: number | null;
  @Field(() => BigInt, { description: "Spent so far, in millionths of the currency." }) spentMicros!: number;
  @Field(() => DateTime, { description: "When the month began." }) periodStart!: string;
  @Field(() => DateTime, { description: "When the next month begins." }) periodEnd!: string;
}

@ReadWith("user:read")
@ObjectType("WorkspaceQuota", {
  simpleResolvers: true,
  description: "What a user may use for workspaces in an organization, and does use.",
})
export class WorkspaceQuotaType implements WorkspaceQuota {
  @Field(() => BigInt, { description: "Credits that the user's groups allow together." }) budget!: number;
  @Field(() => BigInt, { description: "Credits that the user's workspaces cost." }) creditsConsumed!: number;
}

@InputType({ description: "A budget for a group." })
export class SetGroupAiBudgetInput {
  @Field(() => String, { description: "Id, or a name unambiguous to the caller." }) group!: string;
  @Rule(spendLimitRule)
  @Field(() => BigInt, {
    nullable: true,
    description: "Required. Millionths of the deployment's currency, at least 1.",
  })
  spendLimitMicros?: number | null;
}

@InputType({ description: "The group that loses its budget." })
export class DeleteGroupAiBudgetInput {
  @Field(() => String, { description: "Id, or a name unambiguous to the caller." }) group!: string;
}

@InputType({ description: "An amount that a task of a user spent." })
export class AiUsageEntryInput {
  @Field(() => UUID, { description: "Chosen by the reporter: an id that is known already is skipped." }) id!: string;
  @Field(() => UUID, { description: "The owner of the task." }) userId!: string;
  @Field(() => UUID, { nullable: true, description: "The task." }) taskId?: string | null;
  @Rule(amountRule)
  @Field(() => BigInt, { description: "Millionths of the deployment's currency, at least 1." })
  amountMicros!: number;
}

@InputType({ description: "What an AI gateway reports." })
export class RecordAiUsageInput {
  @Field(() => String, {
    defaultValue: "default",
    description: "The organization of the tasks: id, name or `default`.",
  })
  organization!: string;
  @Field(() => [AiUsageEntryInput], { nullable: true, description: "Required. At most 1000." }) entries?:
    | AiUsageEntryInput[]
    | null;
}

@ObjectType({ simpleResolvers: true, description: "A group has a budget." })
export class SetGroupAiBudgetPayload {
  @Covers()
  @Field(() => GroupAiBudgetType, { description: "The budget." })
  groupAiBudget!: GroupAiBudgetType;
}

@ObjectType({ simpleResolvers: true, description: "A group has no budget any more." })
export class DeleteGroupAiBudgetPayload {
  @Field(() => GroupAiBudgetType, { description: "The budget as it was." }) groupAiBudget!: GroupAiBudgetType;
}

@ObjectType({ simpleResolvers: true, description: "Usage was recorded." })
export class RecordAiUsagePayload {
  @Field(() => Int, { description: "How many entries were new." }) recorded!: number;
}

@Resolver(() => GroupType)
export class GroupBudgetsResolver {
  @Needs("group_ai_budget:read")
  @FieldResolver(() => GroupAiBudgetType, {
    nullable: true,
    description: "What every member may spend on AI; none if nothing is set or the caller may not know.",
  })
  aiBudget(@Root() group: GroupRow, @Ctx() ctx: Context): GroupAiBudget | null {
    return aiBudgetOf(ctx, group);
  }

  @Needs("group_ai_budget:read")
  @Query(() => GroupAiBudgetType, { description: "The AI budget of a group." })
  groupAiBudget(
    @Arg("group", () => String, { description: "Id, or a name unambiguous to the caller." }) group: string,
    @Ctx() ctx: Context,
  ): Promise<GroupAiBudgetType> {
    return readGroupAiBudget(ctx, group);
  }

  @Needs("group_ai_budget:update")
  @Mutation(() => SetGroupAiBudgetPayload, { description: "Gives a group an AI budget, or another one." })
  async setGroupAiBudget(
    @Arg("input", () => SetGroupAiBudgetInput, { description: "The budget." }) input: SetGroupAiBudgetInput,
    @Ctx() ctx: Context,
  ): Promise<SetGroupAiBudgetPayload> {
    return { groupAiBudget: await setGroupAiBudget(ctx, input) };
  }

  @Needs("group_ai_budget:delete")
  @Mutation(() => DeleteGroupAiBudgetPayload, { description: "Takes the AI budget from a group." })
  async deleteGroupAiBudget(
    @Arg("input", () => DeleteGroupAiBudgetInput, { description: "The group." }) { group }: DeleteGroupAiBudgetInput,
    @Ctx() ctx: Context,
  ): Promise<DeleteGroupAiBudgetPayload> {
    return { groupAiBudget: await deleteGroupAiBudget(ctx, group) };
  }

  @Needs("group_ai_budget:update")
  @Mutation(() => RecordAiUsagePayload, { description: "Records what tasks spent on AI." })
  async recordAiUsage(
    @Arg("input", () => RecordAiUsageInput, { description: "The report." }) input: RecordAiUsageInput,
    @Ctx() ctx: Context,
  ): Promise<RecordAiUsagePayload> {
    return { recorded: await recordAiUsage(ctx, input) };
  }

  @Needs("group_ai_budget:read")
  @Query(() => AiSpendType, { description: "The AI spending of a user: for the user, and for readers of AI budgets." })
  aiSpend(
    @Arg("user", () => String, { defaultValue: "me", description: "Id, username or `me`." }) user: string,
    @Arg("organization", () => String, { defaultValue: "default", description: "Id, name or `default`." })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<AiSpendType> {
    return readAiSpend(ctx, user, organization);
  }

  @Needs("user:read")
  @Query(() => WorkspaceQuotaType, { description: "The workspace quota of a user in an organization." })
  workspaceQuota(
    @Arg("user", () => String, { defaultValue: "me", description: "Id, username or `me`." }) user: string,
    @Arg("organization", () => String, { defaultValue: "default", description: "Id, name or `default`." })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceQuotaType> {
    return readWorkspaceQuota(ctx, user, organization);
  }
}
