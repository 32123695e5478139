// The services of the areas, which all requests share. `app.ts` creates them. The kernel imports no area: their types are
// added here to its `Services`, which has those of the infrastructure.
import type { LabeledCounter } from "../runtime/labeled-counter.js";
import type { BackgroundTasks } from "./background-tasks.js";
import type { Seals } from "./deployment/signed-values.js";
import type { Entitlements } from "./entitlements/entitlements.js";
import type { ExternalAuthRegistry } from "./external-auth/registry.js";
import type { HealthResults } from "./health/health-checks.js";
import type { AllowedTools } from "./mcp/mcp-settings.js";
import type { Transports } from "./notifications/transports.js";
import type { DocumentFetches } from "./oauth2/document-fetches.js";
import type { DocumentProbe } from "./oauth2/document-probe.js";
import type { RecentClients } from "./oauth2/recent-clients.js";
import type { RateLimits } from "./rate-limits/rate-limits.js";
import type { ScimRequests } from "./scim/scim-requests.js";
import type { SignInProviders } from "./sign-in/provider-registry.js";
import type { Credentials } from "./tokens/credentials.js";
import type { ProxyHealth } from "./workspace-proxies/health.js";

declare module "./kernel/context.js" {
  interface Services {
    /** Work of requests for which no response waits. */
    backgroundTasks: BackgroundTasks;
    credentials: Credentials;
    limits: RateLimits;
    /** Attempts to sign in. */
    signIns: LabeledCounter<"method" | "result">;
    /** Authenticates values that browsers store. */
    seals: Seals;
    /** The features that the licenses of the deployment permit. */
    entitlements: Entitlements;
    /** The providers of external accounts. */
    externalAuth: ExternalAuthRegistry;
    /** OAuth2 applications that authenticate. */
    clients: RecentClients;
    /** Metadata documents of OAuth2 applications. */
    clientDocuments: DocumentFetches;
    documentProbe: DocumentProbe;
    /** Failed requests of identity providers. */
    scimRequests: ScimRequests;
    /** How notifications are sent. */
    transports: Transports;
    /** Counts the secrets that were left out of deliveries to agents. */
    deliveries: { undelivered: number };
    proxyHealth: ProxyHealth;
    /** The latest results of the checks of the deployment's health. */
    health: HealthResults;
    /** The providers at which users sign in. */
    identityProviders: SignInProviders;
    /** The tools of the MCP server that programs may use. */
    mcpTools: AllowedTools;
  }
}
