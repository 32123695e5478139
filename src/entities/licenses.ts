import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** Licences as they were uploaded. */
const LicenseSchema = defineEntity({
  name: "License",
  tableName: "licenses",
  properties: {
    id: p.integer().autoincrement().primary(),
    uuid: p.uuid(),
    uploadedAt: moment(),
    token: p.text().lazy(),
    tokenSha256: p.type("bytea").$type<Buffer>().unique("licenses_token_unique"),
    /** When even the grace period is over, if the licence says when. */
    expiresAt: moment().nullable(),
  },
});
export class License extends LicenseSchema.class {}
LicenseSchema.setClass(License);
