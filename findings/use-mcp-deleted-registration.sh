#!/usr/bin/env bash
# use-mcp 0.0.21 with @modelcontextprotocol/sdk 1.32.2 (npm)
# Expected: once the authorization server answers `invalid_client`, the browser's stored registration is dropped, and the
# next attempt registers again, as the SDK does with its own examples of providers.
# Seen: the provider has no `invalidateCredentials`, which the SDK calls if it exists. The registration stays in the local
# storage, and every further attempt asks for consent with the id that the server has deleted.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund --legacy-peer-deps use-mcp@0.0.21 @modelcontextprotocol/sdk@1.32.2
cat > try.mjs <<'JS'
import { createServer } from "node:http";

// What the package uses of a browser.
const items = new Map();
globalThis.localStorage = {
  getItem: (key) => items.get(key) ?? null,
  setItem: (key, value) => void items.set(key, String(value)),
  removeItem: (key) => void items.delete(key),
  key: (index) => [...items.keys()][index] ?? null,
  get length() {
    return items.size;
  },
};
globalThis.window = { location: { origin: "http://127.0.0.1:1", href: "http://127.0.0.1:1/" }, open: () => null };

let registrations = 0;
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const send = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  const path = request.url.split("?")[0];
  if (path === "/.well-known/oauth-authorization-server")
    return send(200, {
      issuer: home,
      authorization_endpoint: `${home}/authorize`,
      token_endpoint: `${home}/token`,
      registration_endpoint: `${home}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
    });
  if (path === "/register") return send(201, { ...JSON.parse(text), client_id: `client-${++registrations}` });
  if (path === "/token") return send(401, { error: "invalid_client" });
  return send(404, {});
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const home = `http://127.0.0.1:${server.address().port}`;

const { BrowserOAuthClientProvider } = await import("use-mcp");
const { auth } = await import("@modelcontextprotocol/sdk/client/auth.js");
const provider = new BrowserOAuthClientProvider(home, { callbackUrl: "http://127.0.0.1:1/callback" });
await auth(provider, { serverUrl: home });
const first = await provider.clientInformation();
// The registration is deleted on the server: it knows neither the client nor its code.
const failure = await auth(provider, { serverUrl: home, authorizationCode: "a-code" }).then(() => undefined, (error) => error);
const kept = await provider.clientInformation();
await auth(provider, { serverUrl: home });
console.log(`${failure?.name}; registered ${registrations} time(s); still ${kept?.client_id}`);
server.closeAllConnections();
server.close();
if (!failure || registrations !== 1 || kept?.client_id !== first.client_id) throw new Error("It recovers now.");
JS
node try.mjs
