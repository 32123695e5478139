import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** How often something was tried lately, for limits that all replicas share. Not logged: a crash may forget it. */
const RateCounterSchema = defineEntity({
  name: "RateCounter",
  tableName: "rate_counters",
  properties: {
    /** SHA-256 of the limit's name and of whom it counts. */
    key: p.type("bytea").$type<Buffer>().primary(),
    /** Begin of the running window. */
    since: moment(),
    current: p.integer(),
    /** Uses in the window before. */
    previous: p.integer(),
    /** Whether the last use found no room. */
    isRefused: p.boolean(),
    /** The end of the next window: nothing of this counts then. */
    expiresAt: moment().index("rate_counters_expiry_index"),
  },
});
export class RateCounter extends RateCounterSchema.class {}
RateCounterSchema.setClass(RateCounter);

/** Where users have signed in from: an IPv4 address, or an IPv6 network. */
const LoginAddressSchema = defineEntity({
  name: "LoginAddress",
  tableName: "login_addresses",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    address: p.string().length(45).primary(),
    /** Up to a day late. */
    lastUsedAt: moment().index("login_addresses_age_index"),
  },
});
export class LoginAddress extends LoginAddressSchema.class {}
LoginAddressSchema.setClass(LoginAddress);
