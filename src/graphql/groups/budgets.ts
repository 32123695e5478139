import { Arg, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  aiBudgetOf,
  DeleteGroupAiBudget,
  deleteGroupAiBudget,
  type GroupAiBudget,
  readGroupAiBudget,
  SetGroupAiBudget,
  setGroupAiBudget,
} from "../../domain/groups/ai-budgets.js";
import { groupReference, type GroupRow } from "../../domain/groups/groups.js";
import { readWorkspaceQuota, type WorkspaceQuota } from "../../domain/workspaces/quotas.js";
import {
  type AiSpend,
  AiUsageEntry,
  readAiSpend,
  RecordAiUsage,
  recordAiUsage,
} from "../../domain/groups/ai-spending.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { GroupType } from "./groups.js";
import { BigInt, DateTime } from "../engine/scalars.js";

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

const SetGroupAiBudgetInput = inputType("SetGroupAiBudgetInput", SetGroupAiBudget);
const DeleteGroupAiBudgetInput = inputType("DeleteGroupAiBudgetInput", DeleteGroupAiBudget);
inputType("AiUsageEntryInput", AiUsageEntry, { description: "An amount that a user's task spent on AI." });
const RecordAiUsageInput = inputType("RecordAiUsageInput", RecordAiUsage);

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
    @Arg("input", () => SetGroupAiBudgetInput, { description: "The budget." }) input: SetGroupAiBudget,
    @Ctx() ctx: Context,
  ) {
    return { groupAiBudget: await setGroupAiBudget(ctx, input) };
  }

  @Access({ needs: ["group_ai_budget:delete"] })
  @Mutates("Deletes the AI budget of a group.", {
    groupAiBudget: { type: () => GroupAiBudgetType, description: "The deleted budget." },
  })
  async deleteGroupAiBudget(
    @Arg("input", () => DeleteGroupAiBudgetInput, { description: "The group." }) { group }: { group: string },
    @Ctx() ctx: Context,
  ) {
    return { groupAiBudget: await deleteGroupAiBudget(ctx, group) };
  }

  @Access({ needs: ["group_ai_budget:update"] })
  @Mutates("Records the AI spending of tasks.", {
    recorded: { type: () => Int, description: "Number of entries recorded; entries with a known ID are not counted." },
  })
  async recordAiUsage(
    @Arg("input", () => RecordAiUsageInput, { description: "The entries to record." }) input: RecordAiUsage,
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
