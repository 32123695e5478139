import { defineEntity, p } from "@mikro-orm/core";
import { User } from "./users.js";

/** The quiet hours of users who chose some. */
const QuietHoursSchema = defineEntity({
  name: "QuietHours",
  tableName: "user_quiet_hours",
  properties: {
    user: () => p.oneToOne(User).ref().primary().owner().deleteRule("cascade"),
    /** `CRON_TZ=Europe/Berlin 30 2 * * *`, always in this form. */
    schedule: p.string().length(64),
  },
});
export class QuietHours extends QuietHoursSchema.class {}
QuietHoursSchema.setClass(QuietHours);
