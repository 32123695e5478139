// The part of the package's API that tests and benches use; the package has no types.
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    use(middleware: (context: unknown, next: () => Promise<void>) => Promise<void>): void;
    readonly Client: { prototype: { redirectUriAllowed(uri: string): boolean } };
  }
}
