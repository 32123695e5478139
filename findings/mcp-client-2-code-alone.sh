#!/usr/bin/env bash
# @modelcontextprotocol/client 2.4.0 (npm)
# Expected: finishAuth(code) exchanges the code, as in version 1 of the SDK; the second parameter is optional.
# Seen: if the authorization server announces that its responses name it (RFC 9207), the code alone is refused before any
# request. Either the whole query of the callback, or the code and `iss`, has to be given.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @modelcontextprotocol/client@2.4.0
cat > try.mjs <<'JS'
import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const redeemed = [];
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  const path = request.url.split("?")[0];
  if (path.startsWith("/.well-known/oauth-protected-resource"))
    return send(200, { resource: `${home}/mcp`, authorization_servers: [home] });
  if (path === "/.well-known/oauth-authorization-server")
    return send(200, {
      issuer: home,
      authorization_endpoint: `${home}/authorize`,
      token_endpoint: `${home}/token`,
      registration_endpoint: `${home}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
  if (path === "/register") return send(201, { ...JSON.parse(text), client_id: "a-client" });
  if (path === "/token") {
    redeemed.push(new URLSearchParams(text).get("code"));
    return send(200, { access_token: "a-token", token_type: "Bearer", expires_in: 3600 });
  }
  return send(401, {}, { "www-authenticate": `Bearer resource_metadata="${home}/.well-known/oauth-protected-resource/mcp"` });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const home = `http://127.0.0.1:${server.address().port}`;

const kept = {};
const provider = {
  redirectUrl: "http://127.0.0.1:1/callback",
  clientMetadata: { client_name: "Try", redirect_uris: ["http://127.0.0.1:1/callback"], token_endpoint_auth_method: "none" },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: () => {},
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
};
const transport = new StreamableHTTPClientTransport(new URL(`${home}/mcp`), { authProvider: provider });
await new Client({ name: "try", version: "1.0.0" }).connect(transport).catch(() => {});

const refusal = await transport.finishAuth("a-code").then(() => undefined, (error) => error.message);
console.log("code alone:", refusal);
if (refusal === undefined || redeemed.length > 0) throw new Error("The code alone is exchanged now.");
await transport.finishAuth(new URLSearchParams({ code: "a-code", iss: home }));
console.log("whole query:", kept.tokens.token_type);
server.closeAllConnections();
server.close();
JS
node try.mjs
