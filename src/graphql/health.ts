import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import { checkTexts, HealthCode, HealthState } from "../domain/health/catalog.js";
import {
  type CheckedHealth,
  listHealthChecks,
  muteHealthCheck,
  MuteHealthCheck,
} from "../domain/health/health-checks.js";
import type { Context } from "../domain/kernel/context.js";
import { type UserRow, usersById } from "../domain/users/users.js";
import { Access } from "./engine/access.js";
import { enumType, Mutates } from "./engine/declarations.js";
import { inputType } from "./engine/inputs.js";
import { DateTime, Url } from "./engine/scalars.js";
import { PublicUserType } from "./users/users.js";

enumType({ HealthState }, "The state of a check.", {
  OK: "Nothing is wrong.",
  WARNING: "Something needs attention before it fails.",
  ERROR: "Something does not work.",
});

enumType(
  { HealthCode },
  "The checks of the deployment's health.",
  Object.fromEntries(Object.entries(HealthCode).map(([name, code]) => [name, checkTexts[code].meaning])) as Record<
    keyof typeof HealthCode,
    string
  >,
);

@Access({ readWith: "deployment_config:read" })
@ObjectType("HealthCheck", {
  simpleResolvers: true,
  description: "A check of the deployment's health, with its latest result.",
})
class HealthCheckType implements Omit<CheckedHealth, "mutedById"> {
  @Field(() => HealthCode, { description: "Which check it is." }) code!: HealthCode;
  @Field({ description: "Its name for people." }) title!: string;
  @Field(() => HealthState, { description: "State." }) state!: HealthState;
  @Field(() => DateTime, { description: "When it got into this state." }) since!: string;
  @Field(() => DateTime, { description: "When it was last checked." }) checkedAt!: string;
  @Field({ description: "The finding, in sentences." }) finding!: string;
  @Field({ description: "The subject of the check, and why it matters." }) meaning!: string;
  @Field({ description: "A remedy for failures." }) advice!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "Until when its failures count nowhere; null if it was not muted. May be past.",
  })
  mutedUntil!: string | null;
}

const MuteHealthCheckInput = inputType("MuteHealthCheckInput", MuteHealthCheck);

@Resolver(() => HealthCheckType)
export class HealthResolver {
  @FieldResolver(() => Url, { description: "The page with its documentation." })
  docsUrl(@Root() { code }: CheckedHealth, @Ctx() ctx: Context): string {
    return `${ctx.config.accessUrl}/docs/health#${code}`;
  }

  @FieldResolver(() => PublicUserType, { nullable: true, description: "User who muted it; null if none has." })
  mutedBy(@Root() { mutedById }: CheckedHealth, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return mutedById === null ? null : ctx.load(usersById, mutedById);
  }

  @Access({ needs: ["deployment_config:read"], countsAs: Object.keys(HealthCode).length })
  @Query(() => [HealthCheckType], {
    description:
      "Lists the checks of the deployment's health with their latest results, those that need attention first. One server runs them at intervals, and none for this query. Empty before the first results, and while the checks are switched off.",
  })
  healthChecks(@Ctx() ctx: Context): Promise<CheckedHealth[]> {
    return listHealthChecks(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates(
    "Mutes a check for a while, or lets it be heard again. A muted check is run all the same, but its failures are neither counted nor told.",
    { healthCheck: { type: () => HealthCheckType, description: "The check.", covers: "everything" } },
  )
  async muteHealthCheck(
    @Arg("input", () => MuteHealthCheckInput, { description: "The check, and the time." }) input: MuteHealthCheck,
    @Ctx() ctx: Context,
  ) {
    return { healthCheck: await muteHealthCheck(ctx, input) };
  }
}
