// Rates of a deployment of 2,000 users in its busiest hour, when everyone signs in and starts a workspace, and what a
// user causes on a working day. They are assumptions, one line each: change them to those of a deployment, and measure
// again.

export const users = 2_000;

/** Users with an open dashboard, which watches their inbox. */
export const dashboards = 1_000;

export const daemons = 50;

/**
 * Operations of each kind per second, of all users in the busiest hour, and how they follow from what users do; and how
 * many operations of a working day a user causes that add rows.
 */
export const mix = {
  "read over GraphQL": { perSecond: 133, because: "1,000 dashboards, 4 queries each in 30 s" },
  "read over REST": {
    perSecond: 130,
    because: "1,300 editors, command lines and scripts, 1 request each in 10 s",
  },
  "read by access token": {
    perSecond: 25,
    because: "750 OAuth2 applications and MCP clients, 1 request each in 30 s",
  },
  login: { perSecond: 2.2, perDay: 1, because: "2,000 logins with a password in 15 minutes" },
  "token refresh": { perSecond: 1.7, perDay: 24, because: "3 grants of each user, refreshed every hour" },
  "client credentials": { perSecond: 1.7, perDay: 24, because: "6,000 pipelines an hour, 1 token each" },
  notification: { perSecond: 1.7, perDay: 24, because: "3 notifications an hour to each user" },
  build: { perSecond: 1.1, perDay: 2, because: "2,000 workspaces started in 30 minutes" },
  task: { perSecond: 0.2, perDay: 0.4, because: "200 users, 4 tasks an hour each" },
  "SCIM operation": { perSecond: 1.7, perDay: 1, because: "a lookup and a change of each user in 40 minutes" },
  "agent report": {
    perSecond: 233,
    because: "2,000 agents: a heartbeat in 10 s, memory and disk in 60 s",
  },
} satisfies Record<string, Rate>;

interface Rate {
  perSecond: number;
  perDay?: number;
  because: string;
}

export type KindName = keyof typeof mix;

export const kindNames = Object.keys(mix) as KindName[];
