// @node-oauth/oauth2-server on bare node:http, with tokens in Postgres and Steward's users. The library has no
// introspection endpoint: this one is written with its request authentication.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import OAuth2Server from "@node-oauth/oauth2-server";
import { accessTtl, refreshTtl } from "../oauth2.js";
import { model } from "./oauth2-server-model.js";
import { inScope } from "./transactions.js";

const { Request, Response } = OAuth2Server;
const oauth = new OAuth2Server({
  model,
  accessTokenLifetime: accessTtl,
  refreshTokenLifetime: refreshTtl,
});

type Form = Record<string, string>;

async function formOf(request: IncomingMessage): Promise<Form> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
}

async function issueTokens(request: OAuth2Server.Request): Promise<OAuth2Server.Response> {
  const response = new Response({});
  await inScope(() => oauth.token(request, response));
  return response;
}

async function introspect(request: OAuth2Server.Request): Promise<OAuth2Server.Response> {
  const [id = "", secret = ""] = Buffer.from(request.get("authorization").slice(6), "base64").toString().split(":");
  const caller = await model.getClient(id, secret);
  if (!caller) throw new OAuth2Server.InvalidClientError("The credentials are invalid.");
  const headers = { authorization: `Bearer ${request.body.token}` };
  const token = await oauth
    .authenticate(new Request({ headers, method: "GET", query: {} }), new Response({}))
    .catch(() => undefined);
  const response = new Response({});
  response.set("Cache-Control", "no-store");
  response.body = token?.client.id === id ? described(token) : { active: false };
  return response;
}

const seconds = (time: Date) => Math.floor(time.getTime() / 1_000);

const described = ({ client, user, scope, issuedAt, accessTokenExpiresAt }: OAuth2Server.Token) => ({
  active: true,
  scope: scope!.join(" "),
  client_id: client.id,
  username: user.username as string,
  sub: user.id as string,
  iat: seconds(issuedAt as Date),
  exp: seconds(accessTokenExpiresAt as Date),
  token_type: "Bearer",
});

const endpoints: Readonly<Record<string, typeof issueTokens>> = {
  "/oauth2/tokens": issueTokens,
  "/oauth2/introspect": introspect,
};

async function respond(request: IncomingMessage): Promise<{ status: number; headers: Form; body: unknown }> {
  const endpoint = endpoints[request.url!];
  if (!endpoint) return { status: 404, headers: {}, body: {} };
  try {
    const { method, headers } = request as { method: string; headers: Form };
    const { headers: own = {}, body } = await endpoint(
      new Request({ method, headers, query: {}, body: await formOf(request) }),
    );
    return { status: 200, headers: own, body };
  } catch (error) {
    const { code, name, message } = error as OAuth2Server.OAuthError;
    return { status: code || 500, headers: {}, body: { error: name, error_description: message } };
  }
}

const server = createServer((request, response) => {
  void respond(request).then(({ status, headers, body }) => {
    const text = JSON.stringify(body);
    const length = Buffer.byteLength(text);
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": length, ...headers }).end(text);
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
