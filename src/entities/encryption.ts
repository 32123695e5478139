import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** The keys that encrypt: every encrypted value refers to one. The keys themselves are not stored. */
const EncryptionKeySchema = defineEntity({
  name: "EncryptionKey",
  tableName: "encryption_keys",
  properties: {
    id: p.string().length(64).primary(),
    /** A constant under the key: nonce, ciphertext and tag. It tells whether a key is the one of this name. */
    checkValue: p.type("bytea").$type<Buffer>(),
    createdAt: moment(),
  },
});
export class EncryptionKey extends EncryptionKeySchema.class {}
EncryptionKeySchema.setClass(EncryptionKey);
