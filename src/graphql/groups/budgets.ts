import { Arg, Ctx, Field, FieldResolver, InputType, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  aiBudgetOf,
  deleteGroupAiBudget,
  type GroupAiBudget,
  readGroupAiBudget,
  spendLimitRule,
  setGroupAiBudget,
} from "../../domain/groups/budgets.js";
import type { GroupRow } from "../../domain/groups/groups.js";
import { readWorkspaceQuota, type WorkspaceQuota } from "../../domain/workspaces/quotas.js";
import { type AiSpend, amountRule, readAiSpend, recordAiUsage } from "../../domain/groups/spending.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { groupReference, GroupType } from "./groups.js";
import { BigInt, DateTime, UUID } from "../engine/scalars.js";

@Access({ readWith: "group_ai_budget:read" })
@ObjectType("GroupAiBudget", {
  simpleResolvers: true,
  description: "The amount that each member of a group may spend on AI per calendar month (UTC).",
})
export class GroupAiBudgetType implements Omit<GroupAiBudget, "groupId"> {
  @Field(() => GroupType, { description: "Group that the budget applies to." }) group!: GroupAiBudget["group"];
  @Field(() => BigInt, { description: "Monthly limit per member, in millionths of the deployment's currency." })
  spendLimitMicros!: number;
  @Field(() => DateTime, { description: "When the budget was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the budget was last updated." }) updatedAt!: string;
}

@Access({ readWith: "group_ai_budget:read" })
@ObjectType("AiSpend", {
  simpleResolvers: true,
  description: "AI spending of a user in the current calendar month (UTC), and its limit.",
})
export class AiSpendType implements AiSpend {
  @Field(() => BigInt, {
    nullable: true,
    description:
      "Highest AI budget among the user's groups, in millionths of the deployment's currency; null if unlimited.",
  })
  limitMicros!: number | null;
  @Field(() => BigInt, { description: "Amount spent so far, in millionths of the deployment's currency." })
  spentMicros!: number;
  @Field(() => DateTime, { description: "Start of the current month." }) periodStart!: string;
  @Field(() => DateTime, { description: "Start of the next month." }) periodEnd!: string;
}

@Access({ readWith: "user:read" })
@ObjectType("WorkspaceQuota", {
  simpleResolvers: true,
  description: "Workspace quota of a user in an organization, and its consumption.",
})
export class WorkspaceQuotaType implements WorkspaceQuota {
  @Field(() => BigInt, { description: "Total credits granted by the user's groups." }) budget!: number;
  @Field(() => BigInt, { description: "Total credits consumed by the user's workspaces." }) creditsConsumed!: number;
}

@InputType({ description: "Input of `setGroupAiBudget`." })
export class SetGroupAiBudgetInput {
  @Field({ description: groupReference })
  group!: string;
  @Access({ rule: spendLimitRule })
  @Field(() => BigInt, {
    description: "Monthly limit per member, in millionths of the deployment's currency, at least 1.",
  })
  spendLimitMicros!: number;
}

@InputType({ description: "Input of `deleteGroupAiBudget`." })
export class DeleteGroupAiBudgetInput {
  @Field({ description: groupReference })
  group!: string;
}

@InputType({ description: "An amount that a user's task spent on AI." })
export class AiUsageEntryInput {
  @Field(() => UUID, {
    description: "ID chosen by the reporter. Entries with a known ID are skipped, so reports can be retried.",
  })
  id!: string;
  @Field(() => UUID, { description: "ID of the task's owner." }) userId!: string;
  @Field(() => UUID, { nullable: true, description: "ID of the task." }) taskId?: string | null;
  @Access({ rule: amountRule })
  @Field(() => BigInt, { description: "Amount spent, in millionths of the deployment's currency, at least 1." })
  amountMicros!: number;
}

@InputType({ description: "Input of `recordAiUsage`." })
export class RecordAiUsageInput {
  @Field({
    defaultValue: "default",
    description: "Organization of the tasks: ID, name, or `default`.",
  })
  organization!: string;
  @Field(() => [AiUsageEntryInput], { description: "The entries, at most 1000." })
  entries!: AiUsageEntryInput[];
}

@Resolver(() => GroupType)
export class GroupBudgetsResolver {
  @Access({ needs: ["group_ai_budget:read"] })
  @FieldResolver(() => GroupAiBudgetType, {
    nullable: true,
    description: "AI budget of the group; null if none is set or the caller may not read it.",
  })
  aiBudget(@Root() group: GroupRow, @Ctx() ctx: Context): Promise<GroupAiBudget | null> {
    return aiBudgetOf(ctx, group);
  }

  @Access({ needs: ["group_ai_budget:read"] })
  @Query(() => GroupAiBudgetType, { nullable: true, description: "Returns the AI budget of a group." })
  groupAiBudget(
    @Arg("group", {
      description: groupReference,
    })
    group: string,
    @Ctx() ctx: Context,
  ): Promise<GroupAiBudgetType> {
    return readGroupAiBudget(ctx, group);
  }

  @Access({ needs: ["group_ai_budget:update"] })
  @Mutates("Creates or replaces the AI budget of a group.", {
    groupAiBudget: { type: () => GroupAiBudgetType, description: "The budget after the change.", covers: "everything" },
  })
  async setGroupAiBudget(
    @Arg("input", { description: "The budget." }) input: SetGroupAiBudgetInput,
    @Ctx() ctx: Context,
  ) {
    return { groupAiBudget: await setGroupAiBudget(ctx, input) };
  }

  @Access({ needs: ["group_ai_budget:delete"] })
  @Mutates("Deletes the AI budget of a group.", {
    groupAiBudget: { type: () => GroupAiBudgetType, description: "The deleted budget." },
  })
  async deleteGroupAiBudget(
    @Arg("input", { description: "The group." }) { group }: DeleteGroupAiBudgetInput,
    @Ctx() ctx: Context,
  ) {
    return { groupAiBudget: await deleteGroupAiBudget(ctx, group) };
  }

  @Access({ needs: ["group_ai_budget:update"] })
  @Mutates("Records the AI spending of tasks.", {
    recorded: { type: () => Int, description: "Number of entries recorded; entries with a known ID are not counted." },
  })
  async recordAiUsage(
    @Arg("input", { description: "The entries to record." }) input: RecordAiUsageInput,
    @Ctx() ctx: Context,
  ) {
    return { recorded: await recordAiUsage(ctx, input) };
  }

  @Access({ needs: ["group_ai_budget:read"] })
  @Query(() => AiSpendType, {
    nullable: true,
    description: "Returns the AI spending of a user. Requires being that user or permission to read AI budgets.",
  })
  aiSpend(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Arg("organization", {
      defaultValue: "default",
      description: "The organization: ID, name, or `default`.",
    })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<AiSpendType> {
    return readAiSpend(ctx, user, organization);
  }

  @Access({ needs: ["user:read", "organization:read"] })
  @Query(() => WorkspaceQuotaType, {
    nullable: true,
    description: "Returns the workspace quota of a user in an organization.",
  })
  workspaceQuota(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Arg("organization", {
      defaultValue: "default",
      description: "The organization: ID, name, or `default`.",
    })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceQuotaType> {
    return readWorkspaceQuota(ctx, user, organization);
  }
}
