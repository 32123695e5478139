// As much of the package as is used here; it brings no types.
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    readonly Client: { prototype: { redirectUriAllowed(uri: string): boolean } };
  }
}
