import { Ctx, Field, Int, ObjectType, Query, registerEnumType, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { Entitlement, type EntitlementSet, readEntitlements } from "../domain/entitlements/requirements.js";
import type { FeatureState, UsagePeriod } from "../domain/entitlements/state.js";
import { AnyScope, EntryKey } from "./engine/access.js";
import { DateTime } from "./engine/scalars.js";

registerEnumType(Entitlement, {
  name: "Entitlement",
  description: "How far a feature is paid for.",
  valuesConfig: {
    ENTITLED: { description: "Paid for." },
    GRACE_PERIOD: { description: "The paid term is over; the feature works a while longer." },
    NOT_ENTITLED: { description: "Not paid for." },
  },
});

@ObjectType("UsagePeriod", { simpleResolvers: true, description: "When the use of a limited feature counts." })
export class UsagePeriodType implements UsagePeriod {
  @Field(() => DateTime, { nullable: true, description: "When the license was issued; none without a license." })
  issuedAt!: string | null;
  @Field(() => DateTime, { description: "From when on use counts." }) start!: string;
  @Field(() => DateTime, { description: "Until when use counts." }) end!: string;
}

@ObjectType("Feature", {
  simpleResolvers: true,
  description: "A feature that licenses grant or limit.",
})
@EntryKey("name")
export class FeatureType implements FeatureState {
  @Field(() => String, { description: "Its name in licenses: `audit_log`, `user_limit`." }) name!: FeatureState["name"];
  @Field(() => Entitlement, { description: "How far it is paid for." }) entitlement!: Entitlement;
  @Field(() => Boolean, { description: "Whether it works: paid for or in grace, and not switched off." })
  enabled!: boolean;
  @Field(() => Int, { nullable: true, description: "How much of it is licensed; none is unlimited." })
  limit!: number | null;
  @Field(() => Int, { nullable: true, description: "How much of it is used, for features with a limit." })
  actual!: number | null;
  @Field(() => UsagePeriodType, { nullable: true, description: "When use counts, for what is counted over time." })
  usagePeriod!: UsagePeriod | null;
}

@ObjectType("Entitlements", {
  simpleResolvers: true,
  description: "What the deployment may use by its licenses, as computed last.",
})
export class EntitlementsType implements EntitlementSet {
  @Field(() => [FeatureType], { description: "Every feature there is." }) features!: readonly FeatureState[];
  @Field(() => [String], { description: "Licenses that are not genuine, and why." }) errors!: readonly string[];
  @Field(() => [String], { description: "What an operator should look at." }) warnings!: readonly string[];
  @Field(() => Boolean, { description: "Whether any license counts." }) hasLicense!: boolean;
  @Field(() => Boolean, { description: "Whether all licenses that count are trials." }) trial!: boolean;
  @Field(() => Boolean, { description: "Whether a license asks for telemetry." }) requireTelemetry!: boolean;
  @Field(() => DateTime, { description: "When this was computed." }) refreshedAt!: string;
}

@Resolver()
export class EntitlementsResolver {
  @AnyScope()
  @Query(() => EntitlementsType, { description: "What the deployment may use by its licenses." })
  entitlements(@Ctx() ctx: Context): EntitlementSet {
    return readEntitlements(ctx);
  }
}
