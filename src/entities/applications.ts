import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";

/** The ring of secrets from which the keys are derived that hand application keys to the hosts of applications. */
const AppConnectKeySchema = defineEntity({
  name: "AppConnectKey",
  tableName: "app_connect_keys",
  indexes: [{ name: "app_connect_keys_key_index", properties: ["key", "id"] }],
  properties: {
    /** What messages name it by. */
    id: p.uuid().primary(),
    secretCiphertext: p.type("bytea").$type<Buffer>(),
    secretNonce: p.type("bytea").$type<Buffer>(),
    key: () => p.manyToOne(EncryptionKey).ref().index(false),
    usableFrom: moment(),
    /** From here on its successor is used. */
    retiredAt: moment().nullable(),
  },
});
export class AppConnectKey extends AppConnectKeySchema.class {}
AppConnectKeySchema.setClass(AppConnectKey);

/** Messages that one of our own application hosts has taken: each is good for one. */
const SpentAppConnectSchema = defineEntity({
  name: "SpentAppConnect",
  tableName: "spent_app_connects",
  properties: {
    /** The message's `jti`. */
    id: p.uuid().primary(),
    /** The message itself has ended by then; the row may go. */
    expiresAt: moment().index("spent_app_connects_expiry_index"),
  },
});
export class SpentAppConnect extends SpentAppConnectSchema.class {}
SpentAppConnectSchema.setClass(SpentAppConnect);
