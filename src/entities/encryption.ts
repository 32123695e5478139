import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** IDs of the encryption keys; every encrypted value refers to one. The keys themselves are not stored. */
export const EncryptionKeySchema = defineEntity({
  name: "EncryptionKey",
  tableName: "encryption_keys",
  properties: {
    id: p.string().length(64).primary(),
    /** A constant encrypted with the key (nonce, ciphertext, tag), which verifies that a key has this ID. */
    checkValue: p.type("bytea").$type<Buffer>(),
    createdAt: moment(),
  },
});
export class EncryptionKey extends EncryptionKeySchema.class {}
EncryptionKeySchema.setClass(EncryptionKey);
