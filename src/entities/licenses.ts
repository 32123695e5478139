import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** Uploaded licenses. */
export const LicenseSchema = defineEntity({
  name: "License",
  tableName: "licenses",
  properties: {
    id: p.integer().autoincrement().primary(),
    uuid: p.uuid(),
    uploadedAt: moment(),
    token: p.text().lazy(),
    tokenSha256: p.type("bytea").$type<Buffer>().unique("licenses_token_unique"),
    /** End of the grace period, if the license states one. */
    expiresAt: moment().nullable(),
  },
});
export class License extends LicenseSchema.class {}
LicenseSchema.setClass(License);
