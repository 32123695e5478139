import { defineEntity, p } from "@mikro-orm/core";

/** What is set for the whole deployment while it runs, one row for each subject that was ever set. */
const SiteSettingSchema = defineEntity({
  name: "SiteSetting",
  tableName: "site_settings",
  properties: {
    key: p.string().length(32).primary(),
    value: p.json<object>(),
    /** What `value` replaced: the statement that replaces it tells it from here. */
    former: p.json<object>().nullable(),
  },
});
export class SiteSetting extends SiteSettingSchema.class {}
SiteSettingSchema.setClass(SiteSetting);
