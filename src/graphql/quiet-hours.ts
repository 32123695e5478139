import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type QuietHours,
  readQuietHours,
  type SetQuietHours,
  setQuietHours,
} from "../domain/quiet-hours/quiet-hours.js";
import { Covers, Needs, ReadWith } from "./engine/access.js";
import { DateTime } from "./engine/scalars.js";

@ReadWith("user:read_personal")
@ObjectType("QuietHours", {
  simpleResolvers: true,
  description: "From when on, each day, a user's workspaces may be stopped and updated.",
})
export class QuietHoursType implements QuietHours {
  @Field(() => String, { description: "As cron: `CRON_TZ=Europe/Berlin 30 2 * * *`." }) rawSchedule!: string;
  @Field(() => String, { description: "The IANA time zone whose clocks count." }) timezone!: string;
  @Field(() => String, { description: "The time of day as `HH:MM`." }) time!: string;
  @Field(() => DateTime, { description: "The first start after now." }) next!: string;
  @Field(() => Boolean, { description: "Whether the user chose them; otherwise they are the default." })
  userSet!: boolean;
  @Field(() => Boolean, { description: "Whether users may choose; otherwise the default counts for everybody." })
  userCanSet!: boolean;
}

@InputType({ description: "Quiet hours for a user." })
export class SetQuietHoursInput implements SetQuietHours {
  @Field(() => String, { defaultValue: "me", description: "Id, username or `me`." }) user!: string;
  @Field(() => String, {
    nullable: true,
    description:
      "Required. Minute and hour as cron, `30 2 * * *`, after `CRON_TZ=<IANA zone>` if not in UTC; null or empty goes back to the default.",
  })
  cron?: string | null;
}

@ObjectType({ simpleResolvers: true, description: "A user's quiet hours are set." })
export class SetQuietHoursPayload {
  @Covers()
  @Field(() => QuietHoursType, { description: "The quiet hours that count now." })
  quietHours!: QuietHoursType;
}

@Resolver()
export class QuietHoursResolver {
  @Needs("user:read_personal")
  @Query(() => QuietHoursType, { description: "The quiet hours of a user." })
  quietHours(
    @Arg("user", () => String, { defaultValue: "me", description: "Id, username or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<QuietHoursType> {
    return readQuietHours(ctx, user);
  }

  @Needs("user:update_personal")
  @Mutation(() => SetQuietHoursPayload, {
    description: "Gives a user quiet hours of their own, or the default ones again.",
  })
  async setQuietHours(
    @Arg("input", () => SetQuietHoursInput, { description: "The quiet hours." }) input: SetQuietHoursInput,
    @Ctx() ctx: Context,
  ): Promise<SetQuietHoursPayload> {
    return { quietHours: await setQuietHours(ctx, input) };
  }
}
