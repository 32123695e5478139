import { defineEntity, p } from "@mikro-orm/core";

/** Settings of the deployment that can change at run time. One row for each setting that was ever set. */
export const SiteSettingSchema = defineEntity({
  name: "SiteSetting",
  tableName: "site_settings",
  properties: {
    key: p.string().length(32).primary(),
    value: p.json<object>(),
    /** Previous value, which the replacing statement returns. */
    former: p.json<object>().nullable(),
  },
});
export class SiteSetting extends SiteSettingSchema.class {}
SiteSettingSchema.setClass(SiteSetting);
