import { type Contest, type Contestant, hold, usualMethod } from "../contest.js";
import type { Load } from "../load.js";
import { accessToken, client, grants, refreshToken, scopes, type TokenText } from "../oauth2.js";
import { withOAuth2 } from "../oauth2-rows.js";
import type { Goal } from "../report.js";
import { form } from "../requests.js";
import { type Bench, isChosen, type Start, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const connections = 16;

/** A server, and how it spells the tokens that exist before the first request. */
interface Provider {
  name: string;
  start: Start;
  access: (token: TokenText) => string;
  refresh: (token: TokenText) => string;
}

interface Peer extends Provider {
  goal: Goal;
}

const bare = ({ secret }: TokenText) => secret;

const steward: Provider = {
  name: "Steward",
  // The peers count no requests.
  start: (run) => startSteward(run, { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" }),
  access: ({ id, secret }) => `stw_oa_${id}-${secret}`,
  refresh: ({ id, secret }) => `stwr_${id}_${secret}`,
};

const peers: Peer[] = [
  {
    name: "oidc-provider",
    start: startScript("peers/oidc-provider.ts"),
    access: bare,
    refresh: bare,
    goal: { limit: 0.5, aim: 0.33 },
  },
  {
    name: "@node-oauth/oauth2-server",
    start: startScript("peers/oauth2-server.ts"),
    access: bare,
    refresh: bare,
    goal: { limit: 0.8, aim: 0.5 },
  },
];

/** Each connection refreshes a grant of its own, with the token that its last response contained. */
function rotation({ refresh }: Provider): Load {
  const latest = Array.from({ length: connections }, (_, nr) => refresh(refreshToken(nr)));
  return {
    connections,
    request: (connection) =>
      form("/oauth2/tokens", client, { grant_type: "refresh_token", refresh_token: latest[connection]! }),
    received(connection, body) {
      const next = /"refresh_token":"([^"]+)"/.exec(body)?.[1];
      if (next === undefined || next === latest[connection]) throw new Error(`The refresh token was kept:\n${body}`);
      latest[connection] = next;
    },
  };
}

function clientCredentials(): Load {
  const issue = form("/oauth2/tokens", client, { grant_type: "client_credentials", scope: scopes.join("+") });
  return { connections, request: () => issue };
}

/** All access tokens in turn. */
function introspection({ access }: Provider): Load {
  const requests = Array.from({ length: grants }, (_, nr) =>
    form("/oauth2/introspect", client, { token: access(accessToken(nr)), token_type_hint: "access_token" }),
  );
  return {
    connections,
    request: (connection, nth) => requests[(nth * connections + connection) % grants]!,
  };
}

type Body = Record<string, unknown>;

/** Tokens differ, lifetimes by a second, and not all providers have the same further members. */
const issued = (body: string): string => {
  const { access_token, refresh_token, token_type, expires_in, scope } = JSON.parse(body) as Body;
  return JSON.stringify({
    token_type,
    minutes: Math.ceil(Number(expires_in) / 60),
    scope,
    tokens: [typeof access_token, typeof refresh_token],
  });
};

const introspected = (body: string): string => {
  const { active, client_id, sub, scope, token_type, iat, exp } = JSON.parse(body) as Body;
  return JSON.stringify({ active, client_id, sub, scope, token_type, times: [typeof iat, typeof exp] });
};

function contest(title: string, load: (provider: Provider) => Load, spell: (body: string) => string): Contest {
  const contestants = [steward, ...peers].map((provider): Contestant => ({
    name: provider.name,
    start: provider.start,
    load: load(provider),
    spell,
  }));
  return { title, contestants, pairs: peers.map(({ name, goal }) => ({ of: steward.name, against: name, goal })) };
}

/** New loads: those of rotations continue where they ended. */
const contests = (): Contest[] => [
  contest("refresh token rotation", rotation, issued),
  contest("client credentials", clientCredentials, issued),
  contest("introspection", introspection, introspected),
];

/** The endpoints of OAuth2 that machines call all the time. */
export const oauth2Bench: Bench = {
  name: "oauth2",
  method: usualMethod,
  measure: (run) =>
    withOAuth2(run.databaseUrl, async () => {
      const rows = [];
      for (const each of contests()) {
        if (isChosen(run, each.title)) rows.push(...(await hold(each, run)));
      }
      return rows;
    }),
};
