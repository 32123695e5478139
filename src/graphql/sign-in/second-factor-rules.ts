import { Arg, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { FactorLevel } from "../../domain/sign-in/factor-demands.js";
import {
  listSecondFactorRules,
  reachesOf,
  readOrganizationRule,
  type RuleReach,
  type SecondFactorRuleRow,
  setOrganizationSecondFactorRule,
  SetOrganizationSecondFactorRule,
  setSecondFactorRule,
  SetSecondFactorRule,
} from "../../domain/sign-in/second-factor-rules.js";
import { RoleName } from "../../domain/users/user-roles.js";
import { Access } from "../engine/access.js";
import { enumType, Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { DateTime } from "../engine/scalars.js";

enumType({ FactorLevel }, "How far people who sign in with a password may, or must, have a second factor.", {
  OFF: "Nothing is said. Where all are silent, sign-in asks for no second factor.",
  OPTIONAL: "They may have one, which sign-in asks for then.",
  REQUIRED: "They must add one within a period.",
});

@ObjectType("SecondFactorRuleReach", {
  simpleResolvers: true,
  description: "How many people come under a rule. At most 10,000 are counted.",
})
class RuleReachType implements RuleReach {
  @Field(() => Int, { description: "People who are active and sign in with a password." }) peopleCount!: number;
  @Field(() => Int, { description: "Those of them who have no second factor." }) withoutFactorCount!: number;
}

@ObjectType("SecondFactorRule", {
  simpleResolvers: true,
  description:
    "A rule about the second factors of the holders of a role in the deployment, or of the members of an organization.",
})
class SecondFactorRuleType implements Omit<SecondFactorRuleRow, "organizationId"> {
  @Field(() => RoleName, {
    nullable: true,
    description: "The role whose holders come under it, `MEMBER` for all people; null for a rule of an organization.",
  })
  role!: SecondFactorRuleRow["role"];
  @Field(() => FactorLevel, {
    description: "How far they may, or must, have one. The strictest rule for a person counts.",
  })
  level!: FactorLevel;
  @Field(() => Int, {
    description:
      "Days that they have to add a second factor if it is required, from the later of `since` and of when they came under it.",
  })
  daysToEnrol!: number;
  @Field(() => DateTime, { nullable: true, description: "Since when it has this level; null if it is `OFF`." })
  since!: string | null;
}

const SetSecondFactorRuleInput = inputType("SetSecondFactorRuleInput", SetSecondFactorRule);
const SetOrganizationSecondFactorRuleInput = inputType(
  "SetOrganizationSecondFactorRuleInput",
  SetOrganizationSecondFactorRule,
);

const changedRule = { rule: { type: () => SecondFactorRuleType, description: "The rule after the change." } };

@Resolver(() => SecondFactorRuleType)
export class SecondFactorRulesResolver {
  @FieldResolver(() => RuleReachType, { description: "How many people come under it, also while it says nothing." })
  reach(@Root() rule: SecondFactorRuleRow, @Ctx() ctx: Context): Promise<RuleReach> {
    return ctx.load(reachesOf, rule);
  }

  @Access({ needs: ["deployment_config:read"] })
  @Query(() => [SecondFactorRuleType], {
    description:
      "Lists the rules of the deployment about second factors: for all people, and for each role. The setting `STEWARD_SECOND_FACTORS` is the least that counts.",
  })
  secondFactorRules(@Ctx() ctx: Context): Promise<SecondFactorRuleRow[]> {
    return listSecondFactorRules(ctx);
  }

  @Access({ needs: ["organization:update"] })
  @Query(() => SecondFactorRuleType, {
    nullable: true,
    description: "Reads the rule of an organization about the second factors of its members.",
  })
  organizationSecondFactorRule(
    @Arg("organization", { description: "The organization: ID, name, or `default`." }) organization: string,
    @Ctx() ctx: Context,
  ): Promise<SecondFactorRuleRow> {
    return readOrganizationRule(ctx, organization);
  }

  @Mutates(
    "Sets the rule about the second factors of all people, or of the holders of a role in the deployment. It holds within a second, in open sessions as well. Requires a session.",
    changedRule,
  )
  @Access({ needs: ["deployment_config:update"], openTo: ["session"] })
  async setSecondFactorRule(
    @Arg("input", () => SetSecondFactorRuleInput, { description: "The rule." }) input: SetSecondFactorRule,
    @Ctx() ctx: Context,
  ) {
    return { rule: await setSecondFactorRule(ctx, input) };
  }

  @Mutates(
    "Sets the rule of an organization about the second factors of its members. It cannot weaken a rule of the deployment. Requires a session.",
    changedRule,
  )
  @Access({ needs: ["organization:update"], openTo: ["session"] })
  async setOrganizationSecondFactorRule(
    @Arg("input", () => SetOrganizationSecondFactorRuleInput, { description: "The rule." })
    input: SetOrganizationSecondFactorRule,
    @Ctx() ctx: Context,
  ) {
    return { rule: await setOrganizationSecondFactorRule(ctx, input) };
  }
}
