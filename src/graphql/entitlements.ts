import { Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { Entitlement, type EntitlementSet, readEntitlements } from "../domain/entitlements/requirements.js";
import type { FeatureState, UsagePeriod } from "../domain/entitlements/state.js";
import { Access } from "./engine/access.js";
import { enumType } from "./engine/declarations.js";
import { DateTime } from "./engine/scalars.js";

enumType({ Entitlement }, "Licensing state of a feature.", {
  ENTITLED: "A valid license grants the feature.",
  GRACE_PERIOD: "The license has expired; the feature keeps working until the grace period ends.",
  NOT_ENTITLED: "No license grants the feature.",
});

@ObjectType("UsagePeriod", {
  simpleResolvers: true,
  description: "The period over which usage of a limited feature is counted.",
})
export class UsagePeriodType implements UsagePeriod {
  @Field(() => DateTime, { nullable: true, description: "When the license was issued; null without a license." })
  issuedAt!: string | null;
  @Field(() => DateTime, { description: "Start of the period." }) start!: string;
  @Field(() => DateTime, { description: "End of the period." }) end!: string;
}

@ObjectType("Feature", {
  simpleResolvers: true,
  description: "A feature that licenses grant or limit.",
})
@Access({ entryKey: "name" })
export class FeatureType implements FeatureState {
  @Field(() => String, { description: "Name of the feature in licenses, such as `audit_log` or `user_limit`." })
  name!: FeatureState["name"];
  @Field(() => Entitlement, { description: "Licensing state of the feature." }) entitlement!: Entitlement;
  @Field({
    description: "Whether the feature works: it is licensed or in its grace period, and not switched off.",
  })
  enabled!: boolean;
  @Field(() => Int, { nullable: true, description: "Licensed amount; null if unlimited." })
  limit!: number | null;
  @Field(() => Int, { nullable: true, description: "Amount in use, for features with a limit; null otherwise." })
  actual!: number | null;
  @Field(() => UsagePeriodType, {
    nullable: true,
    description: "The period over which usage is counted, for features counted over time; null otherwise.",
  })
  usagePeriod!: UsagePeriod | null;
}

@ObjectType("Entitlements", {
  simpleResolvers: true,
  description: "The features that the licenses of the deployment grant, as last computed.",
})
export class EntitlementsType implements EntitlementSet {
  @Field(() => [FeatureType], { description: "All features, in a fixed order." }) features!: readonly FeatureState[];
  @Field(() => [String], { description: "Licenses that failed verification, with the reason." })
  errors!: readonly string[];
  @Field(() => [String], { description: "Conditions that an operator should review." }) warnings!: readonly string[];
  @Field({ description: "Whether the deployment has at least one valid license." }) hasLicense!: boolean;
  @Field({
    description: "Whether the deployment has valid licenses and all of them are trial licenses.",
  })
  trial!: boolean;
  @Field({ description: "Whether a license requires telemetry." }) requireTelemetry!: boolean;
  @Field(() => DateTime, { description: "When the entitlements were computed." }) refreshedAt!: string;
}

@Resolver()
export class EntitlementsResolver {
  @Access({ anyScope: true })
  @Query(() => EntitlementsType, { description: "Returns the features that the licenses of the deployment grant." })
  entitlements(@Ctx() ctx: Context): EntitlementSet {
    return readEntitlements(ctx);
  }
}
