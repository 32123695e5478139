import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { type QuietHours, readQuietHours } from "../domain/quiet-hours/quiet-hours.js";
import { setQuietHours, SetQuietHours } from "../domain/quiet-hours/quiet-hours-changes.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { DateTime } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("QuietHours", {
  simpleResolvers: true,
  description: "The daily time from which on a user's workspaces may be stopped and updated.",
})
export class QuietHoursType implements QuietHours {
  @Field({
    description: "The schedule as a cron expression, such as `CRON_TZ=Europe/Berlin 30 2 * * *`.",
  })
  schedule!: string;
  @Field({ description: "IANA name of the time zone of the schedule." }) timezone!: string;
  @Field({ description: "Local time of the start as `HH:MM`." }) time!: string;
  @Field(() => DateTime, { description: "Time of the next start." }) next!: string;
  @Field({ description: "Whether the schedule is the user's own; if not, it is the default." })
  userSet!: boolean;
  @Field({
    description: "Whether users may set a schedule of their own; if not, the default applies to all.",
  })
  userCanSet!: boolean;
}

export const SetQuietHoursInput = inputType("SetQuietHoursInput", SetQuietHours);

@Resolver()
export class QuietHoursResolver {
  @Access({ needs: ["user:read_personal"] })
  @Query(() => QuietHoursType, { nullable: true, description: "Returns the quiet hours of a user." })
  quietHours(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<QuietHoursType> {
    return readQuietHours(ctx, user);
  }

  @Access({ needs: ["user:update_personal"] })
  @Mutates("Sets the quiet hours of a user, or restores the default.", {
    quietHours: { type: () => QuietHoursType, description: "The effective quiet hours.", covers: "everything" },
  })
  async setQuietHours(
    @Arg("input", () => SetQuietHoursInput, { description: "The quiet hours." }) input: SetQuietHours,
    @Ctx() ctx: Context,
  ) {
    return { quietHours: await setQuietHours(ctx, input) };
  }
}
