import { defineEntity, p } from "@mikro-orm/core";

/** The file of the logo. There is at most one, which the appearance names by its hash. */
export const LogoSchema = defineEntity({
  name: "Logo",
  tableName: "logos",
  properties: {
    /** Of the content, in hexadecimal digits. */
    sha256: p.string().length(64).primary(),
    mediaType: p.string().length(16),
    content: p.type("bytea").$type<Buffer>().lazy(),
  },
});
export class Logo extends LogoSchema.class {}
LogoSchema.setClass(Logo);
