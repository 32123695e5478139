import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { Organization } from "./organizations.js";
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

/** Browsers in which sign-in takes no second factor for a while. */
export const RememberedDeviceSchema = defineEntity({
  name: "RememberedDevice",
  tableName: "remembered_devices",
  uniques: [{ name: "remembered_devices_secret_hash_unique", properties: ["secretHash"] }],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index("remembered_devices_user_index"),
    /** SHA-256 of the secret that the browser keeps. */
    secretHash: p.type("bytea").$type<Buffer>(),
    userAgent: p.string().length(512).nullable(),
    createdAt: moment().index("remembered_devices_created_index"),
    lastUsedAt: moment().nullable(),
  },
});
export class RememberedDevice extends RememberedDeviceSchema.class {}
RememberedDeviceSchema.setClass(RememberedDevice);

/** Who must, or may, have a second factor: the holders of a role in the deployment, or the members of an organization. */
export const SecondFactorRuleSchema = defineEntity({
  name: "SecondFactorRule",
  tableName: "second_factor_rules",
  uniques: [
    { name: "second_factor_rules_organization_unique", properties: ["organization"] },
    { name: "second_factor_rules_site_role_unique", properties: ["siteRole"] },
  ],
  checks: [{ name: "second_factor_rules_subject_check", expression: "num_nonnulls(organization_id, site_role) = 1" }],
  properties: {
    id: p.uuid().primary(),
    /** The members of this organization, or */
    organization: () => p.manyToOne(Organization).ref().nullable().deleteRule("cascade").index(false),
    /** the holders of this role; `member` for all people. */
    siteRole: p.string().length(32).nullable(),
    level: p.enum(["optional", "required"]),
    /** Days that people have to add one, from the later of `since` and of when they came under the rule. */
    daysToEnrol: p.integer(),
    /** Since when it has this level. */
    since: moment(),
  },
});
export class SecondFactorRule extends SecondFactorRuleSchema.class {}
SecondFactorRuleSchema.setClass(SecondFactorRule);
