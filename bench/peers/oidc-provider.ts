// oidc-provider with opaque tokens that rotate, applications and tokens in Postgres, and Steward's users.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { accessTtl, refreshTtl, scopes } from "../oauth2.js";
import { PostgresAdapter } from "./oidc-provider-adapter.js";
import { inScope, query } from "./transactions.js";

const selectUser = "select 1 from users where id = $1 and status = 'active' and deleted_at is null";

async function findAccount(_: unknown, id: string) {
  const { rows } = await query("user", selectUser, [id]);
  return rows[0] && { accountId: id, claims: () => ({ sub: id }) };
}

const server = createServer();
await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const provider = new Provider(issuer, {
  adapter: PostgresAdapter,
  findAccount,
  scopes: [...scopes, "offline_access"],
  rotateRefreshToken: true,
  routes: { token: "/oauth2/tokens", introspection: "/oauth2/introspect" },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
  },
  formats: { bitsOfOpaqueRandomness: 256 },
  ttl: { AccessToken: accessTtl, ClientCredentials: accessTtl, RefreshToken: refreshTtl, Grant: 365 * 86_400 },
  cookies: { keys: ["a key of the bench"] },
});
provider.use((_: unknown, next: () => Promise<void>) => inScope(next));
server.on("request", provider.callback());
console.log(issuer);
