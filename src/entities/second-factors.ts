import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { User } from "./users.js";

/** Authenticators of users, which show codes of RFC 6238: at most a confirmed one, and one that waits for its first code. */
export const AuthenticatorSchema = defineEntity({
  name: "Authenticator",
  tableName: "authenticators",
  uniques: [
    {
      name: "authenticators_confirmed_unique",
      expression:
        "create unique index authenticators_confirmed_unique on authenticators (user_id) where confirmed_at is not null",
    },
    {
      name: "authenticators_pending_unique",
      expression:
        "create unique index authenticators_pending_unique on authenticators (user_id) where confirmed_at is null",
    },
  ],
  indexes: [
    {
      name: "authenticators_key_index",
      expression: "create index authenticators_key_index on authenticators (key_id, id) where key_id is not null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    createdAt: moment(),
    /** When its first code came; null until then. */
    confirmedAt: moment().nullable(),
    /** The time step of the last code that was used: codes of it and of former ones are not valid any more. */
    lastStep: p.integer().nullable(),
    /** The secret, encrypted. */
    secretCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    secretNonce: p.type("bytea").$type<Buffer>().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
  },
});
export class Authenticator extends AuthenticatorSchema.class {}
AuthenticatorSchema.setClass(Authenticator);

/** The recovery codes of users that are left. */
export const RecoveryCodeSchema = defineEntity({
  name: "RecoveryCode",
  tableName: "recovery_codes",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    /** SHA-256 of the code. */
    codeHash: p.type("bytea").$type<Buffer>().primary(),
    createdAt: moment(),
  },
});
export class RecoveryCode extends RecoveryCodeSchema.class {}
RecoveryCodeSchema.setClass(RecoveryCode);
