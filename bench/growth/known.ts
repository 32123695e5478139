import { numbered, token } from "../data.js";

/** Users by number. Those from `ordinary` on differ by size in number only. */
export const users = {
  owner: 0,
  /** Administrator of the default organization, to which all users belong. */
  administrator: 1,
  /** Administrator of the organization `side`, which has 20 groups and 40 users. */
  sideAdministrator: 2,
  /** A member of four groups, with 200 notifications. */
  member: 10,
  /** The user with the fullest inbox. */
  reader: 11,
  /** The only user with this name. */
  zebulon: 50,
  ordinary: 100,
};

/** Those who send requests. Those who may read more come first. */
export const roles = ["owner", "administrator", "sideAdministrator", "member", "reader"] as const;
export type Role = (typeof roles)[number];

/** Sessions by number of their user. */
export const sessionSeries = "g";
export const tokenOf = (role: Role): string => token(sessionSeries, users[role]);

/** Ids that cases use. The default organization is missing because each database creates its own. */
export const known = {
  sideOrganization: numbered("0", 2),
  user: (nr: number) => numbered("1", nr),
  group: (nr: number) => numbered("2", nr),
  /** Groups of the same size in every database: 50 members, and 20 groups of 5 in `side`. */
  fiftyMembers: numbered("2", 10),
  sideGroup: (nr: number) => numbered("2", sideGroups.first + nr),
  notification: (nr: number) => numbered("3", nr),
  auditEvent: (nr: number) => numbered("4", nr),
  workspace: (nr: number) => numbered("5", nr),
  connection: (nr: number) => numbered("6", nr),
  eventEndpoint: numbered("7", 0),
  proxy: (nr: number) => numbered("9", nr),
  template: (nr: number) => numbered("a", nr),
  target: (nr: number) => numbered("b", nr),
  task: (nr: number) => numbered("e", nr),
};

export const sideGroups = { first: 1_000_000, count: 20 };
