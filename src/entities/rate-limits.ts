import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** Counters of the rate limits that all replicas share. Unlogged: a crash may reset them. */
export const RateCounterSchema = defineEntity({
  name: "RateCounter",
  tableName: "rate_counters",
  properties: {
    /** SHA-256 of the limit's name and its subject. */
    key: p.type("bytea").$type<Buffer>().primary(),
    /** Start of the current window. */
    since: moment(),
    current: p.integer(),
    /** Uses in the previous window. */
    previous: p.integer(),
    /** Whether the last use exceeded the limit. */
    isRefused: p.boolean(),
    /** End of the next window, when the row has no effect anymore. */
    expiresAt: moment().index("rate_counters_expiry_index"),
  },
});
export class RateCounter extends RateCounterSchema.class {}
RateCounterSchema.setClass(RateCounter);

/** IPv4 addresses and IPv6 networks from which users have signed in. */
export const LoginAddressSchema = defineEntity({
  name: "LoginAddress",
  tableName: "login_addresses",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    address: p.string().length(45).primary(),
    /** Accurate to one day. */
    lastUsedAt: moment().index("login_addresses_age_index"),
  },
});
export class LoginAddress extends LoginAddressSchema.class {}
LoginAddressSchema.setClass(LoginAddress);
