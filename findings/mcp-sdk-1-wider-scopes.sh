#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 (npm)
# Expected: after a 403 with `insufficient_scope` and the scopes that are missing, the client sends its user to the authorization
# server to consent to them.
# Seen: a client that has a refresh token redeems that first, although a refresh cannot widen what was granted, tries once
# more with the same scopes, and gives up with "Server returned 403 after trying upscoping". Its user is never asked.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2
cat > try.mjs <<'JS'
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const asked = [];
const grants = [];
/** An MCP server that wants the scope `write`, and its authorization server. */
const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const origin = `http://127.0.0.1:${server.address().port}`;
  const json = (status, value, headers) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
  const { pathname } = new URL(request.url, origin);
  if (pathname.startsWith("/.well-known/oauth-protected-resource"))
    return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["read", "write"] });
  if (pathname.startsWith("/.well-known/"))
    return json(200, {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
    });
  if (pathname === "/token") {
    grants.push(new URLSearchParams(body).get("grant_type"));
    return json(200, { access_token: "second", token_type: "Bearer", refresh_token: "next", scope: "read" });
  }
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
  json(403, { error: "insufficient_scope" }, {
    "WWW-Authenticate": `Bearer error="insufficient_scope", scope="read write", resource_metadata="${metadata}"`,
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

/** Tries to connect with the tokens of an earlier consent to `read`. Returns how it ended. */
async function connect(refresh) {
  asked.length = grants.length = 0;
  let tokens = { access_token: "first", token_type: "Bearer", scope: "read", ...refresh };
  const authProvider = {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
    clientInformation: () => ({ client_id: "client" }),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization: (url) => void asked.push(url.searchParams.get("scope")),
    saveCodeVerifier: () => {},
    codeVerifier: () => "verifier",
  };
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  const client = new Client({ name: "client", version: "1" });
  const failure = await client.connect(new StreamableHTTPClientTransport(url, { authProvider })).catch(({ message }) => message);
  return { asked: [...asked], grants: [...grants], failure };
}

const without = await connect({});
const refreshed = await connect({ refresh_token: "one" });
console.log({ without, refreshed });
server.close();
server.closeAllConnections();
if (without.asked.join() !== "read write") throw new Error("Without a refresh token, the user is not asked.");
if (refreshed.asked.length > 0 || refreshed.grants.join() !== "refresh_token")
  throw new Error("With a refresh token, it behaves otherwise.");
if (!/after trying upscoping/.test(refreshed.failure)) throw new Error("It ends otherwise.");
JS
node try.mjs
