// The part of the package's API that the tests use; the package has no types.
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    readonly Client: { prototype: { redirectUriAllowed(uri: string): boolean } };
  }
}
