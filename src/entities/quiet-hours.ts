import { defineEntity, p } from "@mikro-orm/core";
import { User } from "./users.js";

/** Quiet hours of users who set their own. */
export const QuietHoursSchema = defineEntity({
  name: "QuietHours",
  tableName: "user_quiet_hours",
  properties: {
    user: () => p.oneToOne(User).ref().primary().owner().deleteRule("cascade"),
    /** Normalized schedule, such as `CRON_TZ=Europe/Berlin 30 2 * * *`. */
    schedule: p.string().length(64),
  },
});
export class QuietHours extends QuietHoursSchema.class {}
QuietHoursSchema.setClass(QuietHours);
