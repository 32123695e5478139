import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";

/** The storage of an MCP client, which keeps everything in memory and notes the page that its user has to open. */
export class ClientState implements OAuthClientProvider {
  opened: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  constructor(readonly redirectUrl: string) {}

  get clientMetadata() {
    return { client_name: "Assistant", redirect_uris: [this.redirectUrl], token_endpoint_auth_method: "none" };
  }
  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.opened = url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
}
