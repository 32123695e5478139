import { type Contest, type Contestant, contestBench } from "../contest.js";
import { always, inTurn, type Load, usualConnections } from "../load.js";
import { accessToken, client, grants, refreshToken, scopes, type TokenText } from "../oauth2.js";
import { fillOAuth2 } from "../oauth2-rows.js";
import type { Goal } from "../report.js";
import { form } from "../requests.js";
import { type Start, startScript } from "../run.js";
import { startSteward } from "../steward.js";

/** A server, and how it spells the tokens that exist before the first request. */
interface Provider {
  name: string;
  start: Start;
  access: (token: TokenText) => string;
  refresh: (token: TokenText) => string;
}

const bare = ({ secret }: TokenText) => secret;

const steward: Provider = {
  name: "Steward",
  // The peers count no requests.
  start: (run) => startSteward(run, { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" }),
  access: ({ id, secret }) => `stw_oa_${id}-${secret}`,
  refresh: ({ id, secret }) => `stwr_${id}_${secret}`,
};

const peers = [
  {
    name: "oidc-provider",
    start: startScript("peers/oidc-provider.ts"),
    access: bare,
    refresh: bare,
  },
  {
    name: "@node-oauth/oauth2-server",
    start: startScript("peers/oauth2-server.ts"),
    access: bare,
    refresh: bare,
  },
] as const satisfies readonly Provider[];

/** Each connection refreshes a grant of its own, with the token that its last response contained. */
function rotation({ refresh }: Provider): Load {
  const latest = Array.from({ length: usualConnections }, (_, nr) => refresh(refreshToken(nr)));
  return {
    request: (connection) =>
      form("/oauth2/tokens", client, { grant_type: "refresh_token", refresh_token: latest[connection]! }),
    received(connection, body) {
      const next = /"refresh_token":"([^"]+)"/.exec(body)?.[1];
      if (next === undefined || next === latest[connection]) throw new Error(`The refresh token was kept:\n${body}`);
      latest[connection] = next;
    },
  };
}

const clientCredentials = (): Load =>
  always(form("/oauth2/tokens", client, { grant_type: "client_credentials", scope: scopes.join("+") }));

/** All access tokens in turn. */
const introspection = ({ access }: Provider): Load =>
  inTurn(
    Array.from({ length: grants }, (_, nr) =>
      form("/oauth2/introspect", client, { token: access(accessToken(nr)), token_type_hint: "access_token" }),
    ),
  );

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

type Goals = Record<(typeof peers)[number]["name"], Goal>;

/** A contest, with a goal for each of the peers. */
function contest(
  title: string,
  load: (provider: Provider) => Load,
  spell: (body: string) => string,
  goals: Goals,
): Contest {
  const contestant = (provider: Provider): Contestant => ({ ...provider, load: load(provider), spell });
  const others = peers.map((peer) => ({ ...contestant(peer), goal: goals[peer.name] }));
  return { title, others, ours: [contestant(steward)] };
}

/** The endpoints of OAuth2 that machines call all the time. */
export const oauth2Bench = contestBench(
  "oauth2",
  () => [
    contest("refresh token rotation", rotation, issued, {
      "oidc-provider": { limit: 1, aim: 0.85 },
      "@node-oauth/oauth2-server": { limit: 1.4, aim: 1.2 },
    }),
    contest("client credentials", clientCredentials, issued, {
      "oidc-provider": { limit: 1.5, aim: 1.2 },
      "@node-oauth/oauth2-server": { limit: 1.6, aim: 1.2 },
    }),
    contest("introspection", introspection, introspected, {
      "oidc-provider": { limit: 0.8, aim: 0.6 },
      "@node-oauth/oauth2-server": { limit: 1.6, aim: 1.2 },
    }),
  ],
  fillOAuth2,
);
