import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";

/** Secrets from which the keys are derived that encrypt application keys on the way to application hosts. */
export const AppConnectKeySchema = defineEntity({
  name: "AppConnectKey",
  tableName: "app_connect_keys",
  indexes: [{ name: "app_connect_keys_key_index", properties: ["key", "id"] }],
  properties: {
    /** Key ID in messages. */
    id: p.uuid().primary(),
    secretCiphertext: p.type("bytea").$type<Buffer>(),
    secretNonce: p.type("bytea").$type<Buffer>(),
    key: () => p.manyToOne(EncryptionKey).ref().index(false),
    usableFrom: moment(),
    /** When its successor comes into use. */
    retiredAt: moment().nullable(),
  },
});
export class AppConnectKey extends AppConnectKeySchema.class {}
AppConnectKeySchema.setClass(AppConnectKey);

/** Messages redeemed at the deployment's own application hosts. Each message can be used once. */
export const SpentAppConnectSchema = defineEntity({
  name: "SpentAppConnect",
  tableName: "spent_app_connects",
  properties: {
    /** `jti` of the message. */
    id: p.uuid().primary(),
    /** When the message has expired and the row can be deleted. */
    expiresAt: moment().index("spent_app_connects_expiry_index"),
  },
});
export class SpentAppConnect extends SpentAppConnectSchema.class {}
SpentAppConnectSchema.setClass(SpentAppConnect);
